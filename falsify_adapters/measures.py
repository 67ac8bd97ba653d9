"""What a measure is, and its one canonical spelling. `parse` reads every spelling of INTERFACE.md."""

from __future__ import annotations

from dataclasses import dataclass

# Families with kernels and closed floors of our own; every other family is a backend's.
KERNEL_FAMILIES = ("P", "R", "Success", "RR", "AP", "nDCG", "Rprec", "RBP", "bpref", "ERR")


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """One measure: a family, where it stops looking, and what counts as relevant.

    family: canonical name ("nDCG", "P", "R", "Success", "RR", "AP", "Rprec", "RBP", "bpref", "ERR", or a name
    that a backend or plugin knows); cutoff: k, None where uncut; rel: lowest grade that counts as relevant
    (nDCG and ERR look at grades themselves and ignore it, as trec_eval does); gain: "linear" or "exp" (2^g - 1)
    for nDCG; params: further parameters of the family, sorted by name (RBP: p); top1: gold is the single
    top-graded document of each query (ties: lowest id).
    """

    family: str
    cutoff: int | None = None
    rel: int = 1
    gain: str = "linear"
    params: tuple[tuple[str, float | int | str | bool], ...] = ()
    top1: bool = False

    @property
    def has_kernel(self) -> bool:
        return self.family in KERNEL_FAMILIES

    @property
    def graded(self) -> bool:
        """Whether grades, and not only relevance, move the value."""
        return self.family in ("nDCG", "ERR")

    def param(self, name: str) -> float | int | str | bool:
        return dict(self.params)[name]

    def __str__(self) -> str:
        """Canonical spelling: nDCG@10, nDCG(dcg='exp-log2')@10, AP(rel=2)@100, RBP(p=0.8), R@10(top1)."""
        inner = [f"{k}={v!r}" for k, v in self.params]
        if self.gain == "exp":
            inner.append("dcg='exp-log2'")
        if self.rel != 1:
            inner.append(f"rel={self.rel}")
        text = self.family + (f"({','.join(inner)})" if inner else "")
        text += f"@{self.cutoff}" if self.cutoff is not None else ""
        return text + ("(top1)" if self.top1 else "")

"""A measure that brings its own function, as a backend: one call of the function per query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from falsify_adapters.errors import PluginError
from falsify_adapters.offers import MeasureSpec

if TYPE_CHECKING:
    from falsify_adapters.measures import Measure


class SpecBackend:
    """Computes one family, by `spec.score`. `package` (name and version) says whose function it is."""

    def __init__(self, spec: MeasureSpec, package: str) -> None:
        if spec.score is None:
            raise PluginError(f"the measure {spec.name} of {package} has no scoring function")
        self.name = f"measure of {package}"
        self._spec = spec
        self._score = spec.score

    def why_not(self, measure: Measure) -> str | None:
        """None for every measure of the family whose cutoff and parameters are as the spec says."""
        spec = self._spec
        if measure.family != spec.name:
            return f"{self.name} computes {spec.name}, not {measure.family}"
        if spec.needs_cutoff and measure.cutoff is None:
            return f"{spec.name} needs a cutoff: write {spec.name}@10"
        if spec.needs_cutoff is False and measure.cutoff is not None:
            return f"{spec.name} takes no cutoff: write {spec.name}"
        unknown = [name for name, _ in measure.params if name not in dict(spec.params)]
        if unknown:
            known = ", ".join(name for name, _ in spec.params) or "none"
            return f"{spec.name} has no parameter {unknown[0]!r} (it has: {known})"
        return None

    def tolerance(self, measure: Measure) -> float:  # noqa: ARG002
        """1e-9: the function's values are not rounded on the way."""
        return 1e-9

    def score(
        self,
        measure: Measure,
        qrels: Mapping[str, Mapping[str, int]],
        run: Mapping[str, Mapping[str, float]],
    ) -> list[float]:
        """One value per query, in the order of `qrels`."""
        values = []
        for query, judged in qrels.items():
            scores = run[query]
            ranked = sorted(scores, key=scores.__getitem__, reverse=True)[: measure.cutoff]
            values.append(
                float(self._score(measure, [judged.get(doc) for doc in ranked], sorted(judged.values(), reverse=True)))
            )
        return values

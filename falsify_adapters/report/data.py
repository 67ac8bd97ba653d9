"""The report as data: results by run and measure, and the plain dict that everything else is rendered from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from falsify_adapters import __version__
from falsify_adapters.core.case import GateResult, NullResult
from falsify_adapters.measures import Measure, parse
from falsify_adapters.model import Codes, Flag, Floats, Ints
from falsify_adapters.report.rows import frame, query_rows, rows

SCHEMA = "falsify-adapters.gate/1"
LEAST = 1e-5  # what a geometric mean takes for 0, as trec_eval's gm_map (MIN_GEO_MEAN)


@dataclass(frozen=True, slots=True)
class QrelsFacts:
    """What the report says of the qrels: where they are from, and how many queries, judgments and gold they hold."""

    path: str
    sha256: str | None
    queries: int
    judgments: int
    gold: int


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One measure of one run, with what reading and ranking said of the run. Arrays are (Q,) by judged query.

    gold: what the measure takes for gold; relevant, found: documents at the relevance level of the whole report, and
    how many of them were retrieved, as trec_eval counts num_rel and num_rel_ret; tag: the run's own; tau: the gap that
    matters.
    """

    run: str
    path: str
    sha256: str | None
    result: GateResult
    backend: str
    score_source: str
    verified_queries: int
    queries: tuple[str, ...] = field(repr=False)
    missing: tuple[str, ...] = field(repr=False)
    ignored: tuple[str, ...] = field(repr=False)
    gold: Ints = field(repr=False)
    first_tie: Codes = field(repr=False)
    depth: Ints = field(repr=False)
    pool_size: Ints = field(repr=False)
    relevant: Ints = field(repr=False)
    found: Ints = field(repr=False)
    pool_source: str = ""
    tag: str | None = None
    tau: float = 0.05

    @property
    def measure(self) -> Measure:
        return self.result.measure

    @property
    def flags(self) -> tuple[Flag, ...]:
        return self.result.flags

    @property
    def verdict(self) -> str:
        return self.result.verdict

    @property
    def score(self) -> float:
        return self.result.score

    @property
    def nulls(self) -> dict[str, NullResult]:
        return dict(self.result.nulls)

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """One element of "results" (INTERFACE.md); per_query: with "per_query", one entry for each judged query."""
        r = self.result
        pool: dict[str, Any] = {"n": _one(self.pool_size), "source": self.pool_source}
        if pool["n"] is None:
            pool |= {"n_min": int(self.pool_size.min()), "n_max": int(self.pool_size.max())}
        return {
            "run": self.run,
            "tag": self.tag,
            "path": self.path,
            "sha256": self.sha256,
            "measure": str(r.measure),
            "score": r.score,
            "geometric_mean": float(np.exp(np.log(np.maximum(r.own, LEAST)).mean())),
            "backend": self.backend,
            "score_source": self.score_source,
            "verified_queries": self.verified_queries,
            "queries": {
                "judged": len(self.queries),
                "missing": len(self.missing),
                "ignored": len(self.ignored),
                "without_gold": int((self.gold == 0).sum()),
            },
            "documents": {
                "retrieved": int(self.depth.sum()),
                "relevant": int(self.relevant.sum()),
                "relevant_retrieved": int(self.found.sum()),
            },
            "pool": pool,
            "floor": r.floor,
            "floor_se": r.floor_se,
            "ceiling": r.ceiling,
            "chance_corrected": r.chance_corrected,
            "tie_span": list(r.tie_span),
            "tied_queries": r.tied_queries,
            "judged_at_k": r.judged_at_k,
            "nulls": {name: _null(null) for name, null in r.nulls.items()},
            "popularity": {"score": r.popularity, "delta": r.score - r.popularity},
            "paired": _paired(r.paired),
            "verdict": r.verdict,
            "queries_needed": r.queries_needed,
            "flags": [{"code": f.code, "message": f.message} for f in r.flags],
            **({"per_query": self.per_query()} if per_query else {}),
        }

    def plot(self, ax: Any = None) -> Any:
        """The picture of this entry, into the matplotlib axes given or a figure of its own (extra `plot`). The
        figure."""
        from falsify_adapters.report.plot import plot_result

        return plot_result(self.to_dict(), {"tau": self.tau}, ax)

    def per_query(self) -> list[dict[str, Any]]:
        """One entry per judged query: score, floor, expectation under each null, gold, documents retrieved, and whether
        a tie reaches above the cutoff."""
        r = self.result
        shown = self.depth if r.measure.cutoff is None else np.minimum(self.depth, r.measure.cutoff)
        columns: dict[str, Any] = {"query": self.queries, "score": r.own.tolist(), "floor": r.floor_per_query.tolist()}
        columns |= {f"null_{name}": null.per_query.tolist() for name, null in r.nulls.items()}
        columns |= {
            "gold": self.gold.tolist(), "retrieved": self.depth.tolist(), "relevant": self.relevant.tolist(),
            "relevant_retrieved": self.found.tolist(),
            "tied": ((self.first_tie > 0) & (self.first_tie <= shown)).tolist(),
        }  # fmt: skip
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GateReport:
    """The gate's answer for every run and measure, in the order asked for."""

    settings: dict[str, Any]
    qrels: QrelsFacts
    entries: tuple[Entry, ...]

    @property
    def verdict(self) -> str:
        """FAIL if any entry fails, else UNDER-NS if any is undecided, else PASS."""
        verdicts = {e.verdict for e in self.entries}
        return next(v for v in ("FAIL", "UNDER-NS", "PASS") if v in verdicts)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __getitem__(self, key: Any) -> Entry:
        """The entry of a measure in any spelling, or of (run, measure). Raises KeyError naming what there is."""
        run, measure = key if isinstance(key, tuple) else (None, key)
        named = [e for e in self.entries if run in (None, e.run, e.path)]
        found = [e for e in named if str(e.measure) == str(measure)]
        if not found:
            families = {e.measure.family for e in self.entries}
            wanted = parse(measure, rel=self.settings.get("rel", 1), known=families.__contains__)
            found = [e for e in named if e.measure == wanted]
        if len(found) == 1:
            return found[0]
        there = ", ".join(f"({e.run!r}, {str(e.measure)!r})" for e in self.entries)
        raise KeyError(f"{key!r} names {len(found)} of the entries: {there}")

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<GateReport {self.verdict}: {len(self)} results>"

    def __str__(self) -> str:
        """The table, as on a terminal."""
        from falsify_adapters.report.text import render_gate

        return render_gate(self.to_dict(), width=80, color=False, ascii_only=False)

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Plain data, numbers unrounded (INTERFACE.md, "JSON"); per_query: with the values of every query."""
        q = self.qrels
        return {
            "schema": SCHEMA,
            "version": __version__,
            "settings": dict(self.settings),
            "qrels": {
                "path": q.path, "sha256": q.sha256, "queries": q.queries, "judgments": q.judgments, "gold": q.gold,
            },
            "results": [e.to_dict(per_query=per_query) for e in self.entries],
        }  # fmt: skip

    def to_frame(self, *, per_query: bool = False, pandas: bool = False) -> Any:
        """One row per run and measure: scores, per null its mean, gap, printed interval, p and verdict, flags; or
        `per_query`, one row per run, measure and query. A polars frame, or a pandas frame."""
        return frame(query_rows(self.to_dict(per_query=True)) if per_query else rows(self.to_dict()), pandas=pandas)

    def plot(self) -> Any:
        """The pictures of all results, one below the other, as a matplotlib figure (extra `plot`)."""
        from falsify_adapters.report.plot import plot_gate

        return plot_gate(self.to_dict())

    def save_per_query(self, path: str | Path) -> None:
        """Write one row per run, measure and query in the format of the file's ending: .csv, .jsonl, .parquet."""
        from falsify_adapters.report.saving import save_rows

        save_rows(query_rows(self.to_dict(per_query=True)), path)

    def save(self, path: str | Path) -> None:
        """Write the report in the format of the file's ending: .html, .json, .csv, .md, ... Raises OptionError."""
        from falsify_adapters.save_report import save

        save(self.to_dict(per_query=Path(path).suffix.lower() == ".html"), path)


def _one(values: Ints | Floats) -> int | None:
    return int(values[0]) if len(values) and (values == values[0]).all() else None


def _null(null: NullResult) -> dict[str, Any]:
    return {
        "mean": null.mean,
        "se": null.se,
        "method": null.method,
        "delta": null.delta,
        "ci95": None if null.ci95 is None else list(null.ci95),
        "ci": None if null.ci is None else list(null.ci),
        "p": null.p,
        "reach": null.reach,
        "verdict": null.verdict,
    }


def _paired(paired: GateResult | None) -> dict[str, Any] | None:
    if paired is None:
        return None
    return {"measure": str(paired.measure), "score": paired.score, "verdict": paired.verdict}

"""The report as data: results by run and measure, and the plain dict that everything else is rendered from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from falsify_adapters import __version__
from falsify_adapters.core.case import GateResult, NullResult
from falsify_adapters.errors import OptionError
from falsify_adapters.measures import Measure, parse
from falsify_adapters.model import Codes, Flag, Floats, Ints

if TYPE_CHECKING:
    import polars as pl

SCHEMA = "falsify-adapters.gate/1"


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
    """One measure of one run, with what reading and ranking said of the run. Arrays are (Q,) by judged query."""

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
    pool_source: str = ""

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

    def to_dict(self) -> dict[str, Any]:
        """One element of "results" (INTERFACE.md)."""
        r = self.result
        pool: dict[str, Any] = {"n": _one(self.pool_size), "source": self.pool_source}
        if pool["n"] is None:
            pool |= {"n_min": int(self.pool_size.min()), "n_max": int(self.pool_size.max())}
        return {
            "run": self.run,
            "path": self.path,
            "sha256": self.sha256,
            "measure": str(r.measure),
            "score": r.score,
            "backend": self.backend,
            "score_source": self.score_source,
            "verified_queries": self.verified_queries,
            "queries": {
                "judged": len(self.queries),
                "missing": len(self.missing),
                "ignored": len(self.ignored),
                "without_gold": int((self.gold == 0).sum()),
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
        }


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data, numbers unrounded (INTERFACE.md, "JSON")."""
        q = self.qrels
        return {
            "schema": SCHEMA,
            "version": __version__,
            "settings": dict(self.settings),
            "qrels": {
                "path": q.path, "sha256": q.sha256, "queries": q.queries, "judgments": q.judgments, "gold": q.gold,
            },
            "results": [e.to_dict() for e in self.entries],
        }  # fmt: skip

    def to_frame(self) -> pl.DataFrame:
        """One row per run and measure: scores, per null its mean, gap, printed interval, p and verdict, flags."""
        import polars as pl

        rows = []
        for e in self.entries:
            r = e.result
            row: dict[str, Any] = {
                "run": e.run, "measure": str(r.measure), "verdict": r.verdict, "score": r.score, "floor": r.floor,
                "ceiling": r.ceiling, "chance_corrected": r.chance_corrected,
            }  # fmt: skip
            for name, null in r.nulls.items():
                low, high = null.ci95 or (None, None)
                row |= {
                    f"null_{name}": null.mean, f"delta_{name}": null.delta, f"ci95_low_{name}": low,
                    f"ci95_high_{name}": high, f"p_{name}": null.p, f"verdict_{name}": null.verdict,
                }  # fmt: skip
            row |= {"queries_needed": r.queries_needed, "flags": [f.code for f in r.flags]}
            rows.append(row)
        return pl.DataFrame(rows)

    def per_query(self) -> pl.DataFrame:
        """One row per run, measure and query: score, expectation under each null, floor, gold, depth, ties."""
        import polars as pl

        frames = []
        for e in self.entries:
            r = e.result
            shown = e.depth if r.measure.cutoff is None else np.minimum(e.depth, r.measure.cutoff)
            columns: dict[str, Any] = {"query_id": list(e.queries), "score": r.own, "floor": r.floor_per_query}
            columns |= {f"null_{name}": null.per_query for name, null in r.nulls.items()}
            columns |= {"gold": e.gold, "retrieved": e.depth, "tied": (e.first_tie > 0) & (e.first_tie <= shown)}
            frame = pl.DataFrame(columns)
            frames.append(frame.select(pl.lit(e.run).alias("run"), pl.lit(str(r.measure)).alias("measure"), pl.all()))
        return pl.concat(frames)

    def save_per_query(self, path: str | Path) -> None:
        """Write `per_query` as CSV."""
        try:
            self.per_query().write_csv(path)
        except OSError as error:
            raise OptionError(f"cannot be written: {error.strerror or error}", where=str(path)) from None

    def save(self, path: str | Path) -> None:
        """Write the report in the format of the file's ending: .json, .html, .txt (the table). Raises OptionError."""
        from falsify_adapters.report.saving import save

        save(self.to_dict(), path)


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

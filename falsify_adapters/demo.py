"""The made benchmark of `falsify-adapters demo`: sound with 200 documents to choose from, broken with 8.

Both hold the same 20 queries with the same 5 gold documents each, and the same three systems. All that differs is
what the systems rank: the whole collection, or a candidate list that is mostly gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.text import Text

    from falsify_adapters.model import Floats, Ints

QUERIES, DOCUMENTS, GOLD, CANDIDATES, SEED = 20, 200, 5, 8, 25
MEASURE = "RR@10"
SYSTEMS = ("good", "random", "popularity")


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """Qrels and runs as dicts, as anyone would write them by hand.

    pool: the number of documents, or "run" where each query's own list is its candidate pool.
    """

    title: str
    qrels: dict[str, dict[str, int]]
    runs: dict[str, dict[str, dict[str, float]]]
    pool: int | str


def benchmarks(seed: int = SEED) -> tuple[Benchmark, Benchmark]:
    """The sound benchmark and the broken one, the same for the same seed."""
    rng = np.random.default_rng(seed)
    weight = 1.0 / np.arange(1, DOCUMENTS + 1)  # a few documents answer many queries, as in real collections
    weight /= weight.sum()
    gold = np.array([rng.choice(DOCUMENTS, GOLD, replace=False, p=weight) for _ in range(QUERIES)])
    relevant = np.zeros((QUERIES, DOCUMENTS), bool)
    np.put_along_axis(relevant, gold, True, axis=1)
    scores = {
        "good": 3.0 * relevant + rng.standard_normal((QUERIES, DOCUMENTS)),
        "random": rng.random((QUERIES, DOCUMENTS)),
        "popularity": np.tile(relevant.sum(0) + rng.random(DOCUMENTS) / 2, (QUERIES, 1)),
    }
    qrels = {f"q{i + 1}": {_doc(j): 1 for j in sorted(row.tolist())} for i, row in enumerate(gold)}
    everything = np.tile(np.arange(DOCUMENTS), (QUERIES, 1))
    others = [rng.choice(np.flatnonzero(~relevant[i]), CANDIDATES - GOLD, replace=False) for i in range(QUERIES)]
    few = np.concatenate([gold, np.array(others)], axis=1)
    return (
        Benchmark(f"a pool of {DOCUMENTS} documents", qrels, _runs(scores, everything), DOCUMENTS),
        Benchmark(f"a pool of {CANDIDATES} candidates a query", qrels, _runs(scores, few), "run"),
    )


def _doc(number: int) -> str:
    return f"d{number + 1:03d}"


def _runs(scores: Mapping[str, Floats], candidates: Ints) -> dict[str, dict[str, dict[str, float]]]:
    return {
        name: {
            f"q{i + 1}": {_doc(j): float(table[i, j]) for j in sorted(candidates[i].tolist())} for i in range(QUERIES)
        }
        for name, table in scores.items()
    }


def results(seed: int = SEED) -> dict[str, dict[str, Any]]:
    """The gate's reports as dicts, by the benchmark's title."""
    from falsify_adapters.check import gate

    out = {}
    for bench in benchmarks(seed):
        report = gate(bench.qrels, list(bench.runs.values()), [MEASURE], backend="builtin", pool=bench.pool).to_dict()
        # A run in memory has no name of its own; rows come in the order of the runs.
        named = [{**row, "run": name} for name, row in zip(bench.runs, report["results"], strict=True)]
        out[bench.title] = {**report, "results": named}
    return out


def run_demo() -> list[str | Text]:
    """The lines that the command prints."""
    from falsify_adapters.report.text import summary_lines

    lines: list[str | Text] = [
        f"One made benchmark, twice: {QUERIES} queries, {GOLD} gold documents each, {len(SYSTEMS)} systems, {MEASURE}.",
    ]
    found = results()
    for title, report in found.items():
        lines += ["", title[0].upper() + title[1:]]
        lines += summary_lines(report["results"], report["settings"], width=80, numbers=False)
    (_, sound), (_, broken) = found.items()
    clean = {row["run"]: row for row in sound["results"]}
    few = {row["run"]: row for row in broken["results"]}
    return [
        *lines,
        "",
        "What to see",
        "* 200 documents: the good system is far above all four nulls. The random one is",
        f"  at the floor, {clean['random']['floor']:.3f}; {QUERIES} queries are too few to call even that a failure.",
        f"* The popularity cheat has one list for every query and scores {clean['popularity']['score']:.3f}. Null A",
        "  catches it: other queries' gold serves it as well as their own.",
        f"* 8 candidates, {GOLD} of them gold: a random order already scores {few['good']['floor']:.3f}, so even the",
        f"  good system's {few['good']['score']:.3f} stays as undecided as the random one's "
        f"{few['random']['score']:.3f}.",
        "* Queries, gold and systems are the same in both. Only the pool is not.",
    ]

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
CHUNKS, NOISE_RUNS, DEPTH = 5 * DOCUMENTS, 10, 10
MEASURE = "RR@10"
SYSTEMS = ("good", "random", "popularity")


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """Qrels and runs as dicts, as anyone would write them by hand.

    noise: runs of random scores over the same documents, the first 10 of each list; pool: the number of documents, or
    "run" where each query's own list is its candidate pool.
    """

    title: str
    qrels: dict[str, dict[str, int]]
    runs: dict[str, dict[str, dict[str, float]]]
    noise: list[dict[str, dict[str, float]]]
    pool: int | str


def benchmarks(seed: int = SEED) -> tuple[Benchmark, ...]:
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
    other = np.random.default_rng([seed, 2])
    noise = [other.random((QUERIES, DOCUMENTS)) for _ in range(NOISE_RUNS)]
    return tuple(
        Benchmark(title, qrels, _runs(scores, ids), [_run(table, _first(table, ids)) for table in noise], pool)
        for title, ids, pool in (
            (f"a pool of {DOCUMENTS} documents", everything, DOCUMENTS),
            (f"a pool of {CANDIDATES} candidates a query", few, "run"),
        )
    )


def _doc(number: int) -> str:
    return f"d{number + 1:03d}"


def _runs(scores: Mapping[str, Floats], candidates: Ints) -> dict[str, dict[str, dict[str, float]]]:
    return {name: _run(table, candidates) for name, table in scores.items()}


def _run(table: Floats, candidates: Ints) -> dict[str, dict[str, float]]:
    return {f"q{i + 1}": {_doc(j): float(table[i, j]) for j in sorted(candidates[i].tolist())} for i in range(QUERIES)}


def _first(table: Floats, candidates: Ints) -> Ints:
    order = np.argsort(-np.take_along_axis(table, candidates, axis=1), axis=1)[:, :DEPTH]
    return np.take_along_axis(candidates, order, axis=1)


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


def checks(seed: int = SEED) -> dict[str, dict[str, Any]]:
    """One row of `floor` each: the sound benchmark, the broken one, and the sound one with N counted in chunks."""
    from falsify_adapters.check_floor import floor

    sound, broken = benchmarks(seed)
    sizes = {"chunks": CHUNKS, "documents": DOCUMENTS}
    asked: dict[str, tuple[Benchmark, int | str, dict[str, int] | None]] = {
        f"{DOCUMENTS} documents": (sound, sound.pool, None),
        f"{CANDIDATES} candidates": (broken, broken.pool, None),
        f"{CHUNKS} chunks": (sound, CHUNKS, sizes),  # the bug: documents are scored
    }
    out = {}
    for name, (bench, pool, candidates) in asked.items():
        made = floor(
            bench.qrels, MEASURE, pool=pool, noise=bench.noise, run=bench.runs["good"], candidates=candidates
        ).to_dict()
        out[name] = made["results"][0]
    return out


def run_demo() -> list[str | Text]:
    """The lines that the command prints."""
    from falsify_adapters.report.floor_text import implied, one_line_each
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
    floors = checks()
    *_, units = floors.values()
    return [
        *lines,
        "",
        f"The noise floor: {NOISE_RUNS} runs of random scores, and the good system above them",
        *one_line_each("N counts", floors),
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
        "* Check 1 asks whether noise scores what probability says. It does over 8",
        "  candidates too; Check 2 asks for room above that, and there is none.",
        f"* Count N in chunks where documents are scored, and noise is {units['check1']['ratio']:.1f} times too good:",
        f"  it {implied(units, '99 %')[0]};",
        f"  {implied(units, '99 %')[1]}.",
    ]

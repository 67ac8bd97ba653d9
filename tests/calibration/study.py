"""Error rates of the gate on worlds whose truth is known: python tests/calibration/study.py [TIMES] [SEED].

Every world is a benchmark and a system drawn anew each time: so many queries, gold documents and documents in the
pool, gold that is flat or skewed, binary or graded. Printed per world: how often the verdict was PASS, FAIL, UNDER-NS,
how often `ci95` of the gap to null C held the true gap, and how often p of null C was 0.05 or less.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.random import Generator

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reference import make_case

from falsify_adapters.core.case import GateResult, Settings
from falsify_adapters.core.gate import examine
from falsify_adapters.measures import parse

DEPTH = 50


@dataclass(frozen=True, slots=True)
class World:
    """strength: None for a random retriever, "popular" for the popularity cheat, else the chance that a query is
    answered with its gold first and else at random; skew: gold documents follow a power law over the pool."""

    queries: int
    gold: int
    pool: int
    measure: str
    strength: float | str | None
    skew: bool = False
    graded: bool = False

    @property
    def name(self) -> str:
        kind = f"{self.strength:g}" if isinstance(self.strength, float) else self.strength or "random"
        more = " skewed" * self.skew + " graded" * self.graded
        return f"{self.queries} | {self.gold} | {self.pool} | {self.measure} | {kind}{more}"


def draw(world: World, rng: Generator) -> tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]]:
    """Qrels, and a run of strictly ranked lists."""
    docs = np.array([f"d{n:07}" for n in range(world.pool)])
    chance = 1.0 / np.arange(1, world.pool + 1) if world.skew else np.ones(world.pool)
    chance /= chance.sum()
    depth = min(DEPTH, world.pool)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, list[list[str]]] = {}
    for q in range(world.queries):
        gold = rng.choice(world.pool, world.gold, replace=False, p=chance)
        grades = rng.integers(1, 4, world.gold) if world.graded else np.ones(world.gold, np.int64)
        qrels[f"q{q:04}"] = {str(docs[g]): int(n) for g, n in zip(gold, grades, strict=True)}
        ranked = rng.choice(world.pool, depth, replace=False)
        if isinstance(world.strength, float) and rng.random() < world.strength:
            best = gold[np.argsort(-grades, kind="stable")]
            ranked = np.concatenate([best, ranked[~np.isin(ranked, best)]])[:depth]
        run[f"q{q:04}"] = [[str(docs[d])] for d in ranked]
    if world.strength == "popular":
        counts = Counter(doc for judged in qrels.values() for doc in judged)
        often = [doc for doc, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))][:depth]
        run = {q: [[doc] for doc in often] for q in qrels}
    return qrels, run


def judged(world: World, rng: Generator) -> GateResult:
    """One gate."""
    qrels, run = draw(world, rng)
    case = make_case(parse(world.measure), qrels, run, world.pool)
    (found,) = examine([case], Settings(n_boot=1000, seed=int(rng.integers(2**31))))
    return found


@dataclass(frozen=True, slots=True)
class Rates:
    """Of `times` gates: shares of the verdicts, of intervals that hold the truth (None where it is not known) and of p
    of null C up to 0.05."""

    times: int
    passed: float
    failed: float
    undecided: float
    covered: float | None
    small_p: float

    def row(self, world: World) -> str:
        covered = "-" if self.covered is None else f"{self.covered:.3f}"
        cells = [f"{x:.3f}" for x in (self.passed, self.failed, self.undecided)]
        return f"| {world.name} | {self.times} | {' | '.join(cells)} | {covered} | {self.small_p:.3f} |"


def study(world: World, times: int, seed: int) -> Rates:
    """So many gates on a world, each with benchmark and run of its own."""
    rng = np.random.default_rng([seed, *map(ord, world.name)])
    verdicts: Counter[str] = Counter()
    gaps, ends, small = [], [], 0
    for _ in range(times):
        found = judged(world, rng)
        verdicts[found.verdict] += 1
        null = found.nulls["C"]
        small += null.p <= 0.05
        gaps.append(null.delta)
        if null.ci95 is not None:
            ends.append(null.ci95)
    truth = 0.0 if world.strength is None else None if isinstance(world.strength, str) else float(np.mean(gaps))
    held = None if truth is None or not ends else float(np.mean([low <= truth <= high for low, high in ends]))
    shares = (verdicts[word] / times for word in ("PASS", "FAIL", "UNDER-NS"))
    return Rates(times, *shares, held, small / times)


def worlds() -> Iterator[World]:
    """Random retrievers at every size, popularity cheats, systems of known strength."""
    sizes = ((1, 2), (1, 10), (1, 1000), (5, 8), (5, 1000), (50, 1000))
    for queries, (gold, pool), measure in product((10, 20, 28, 50, 100, 300), sizes, ("nDCG@10", "RR@10", "P@5")):
        yield World(queries, gold, pool, measure, None, graded=gold == 5 and measure == "nDCG@10")
    for queries, gold in product((10, 28, 100), (1, 5)):
        yield World(queries, gold, 200, "nDCG@10", "popular", skew=True)
    strengths = (0.02, 0.1, 0.3, 0.6, 0.95)
    for queries, strength, measure in product((10, 20, 28, 50, 100), strengths, ("nDCG@10", "Success@5", "AP")):
        yield World(queries, 3, 1000, measure, strength)


HEAD = (
    "| queries | gold | pool | measure | system | gates | PASS | FAIL | UNDER-NS | ci95 holds the truth | "
    "p of C at most 0.05 |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Print a row per world as it is done."""
    times, seed = (int(given) for given in [*sys.argv[1:], "200", "1"][:2])
    print(HEAD)
    for world in worlds():
        print(study(world, times, seed).row(world), flush=True)


if __name__ == "__main__":
    main()

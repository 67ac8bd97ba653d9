"""The ten measures by their textbook definitions, for one ranked list, and random rankings one by one.

Slow and plain on purpose, and written without a look at the kernels: what the fast code is held against. A ranking is
a sequence of grades in rank order, None for a document without judgment; `judged` holds all grades of the query, those
of retrieved documents included.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from falsify_adapters.measures import Measure

Grade = int | None


def score(measure: Measure, ranking: Sequence[Grade], judged: Sequence[int]) -> float:
    """The value of one ranked list; 0 where the query has no relevant document."""
    seen = list(ranking) if measure.cutoff is None else list(ranking)[: measure.cutoff]
    level = 1 if measure.family in ("nDCG", "ERR") else measure.rel
    relevant = [grade is not None and grade >= level for grade in seen]
    total = sum(grade >= level for grade in judged)
    if total == 0:
        return 0.0
    match measure.family:
        case "P":
            assert measure.cutoff is not None
            return sum(relevant) / measure.cutoff
        case "R":
            return sum(relevant) / total
        case "Success":
            return 1.0 if any(relevant) else 0.0
        case "RR":
            return 1 / (relevant.index(True) + 1) if any(relevant) else 0.0
        case "AP":
            return sum(sum(relevant[: i + 1]) / (i + 1) for i, hit in enumerate(relevant) if hit) / total
        case "Rprec":
            return sum(relevant[:total]) / total
        case "RBP":
            p = float(measure.param("p"))
            return (1 - p) * sum(p**i for i, hit in enumerate(relevant) if hit)
        case "nDCG":
            ideal = sorted((gain(g, measure.gain) for g in judged), reverse=True)[: measure.cutoff]
            return dcg([gain(g, measure.gain) for g in seen]) / dcg(ideal)
        case "bpref":
            return bpref(seen, level, total, sum(0 <= grade < level for grade in judged))
        case "ERR":
            value, reading = 0.0, 1.0
            for i, grade in enumerate(seen):
                stop = (2 ** max(grade or 0, 0) - 1) / 16
                value += reading * stop / (i + 1)
                reading *= 1 - stop
            return value
    raise ValueError(measure.family)


def gain(grade: Grade, kind: str) -> float:
    positive = max(grade or 0, 0)
    return 2.0**positive - 1 if kind == "exp" else float(positive)


def dcg(gains: Sequence[float]) -> float:
    return sum(g / math.log2(i + 2) for i, g in enumerate(gains))


def bpref(seen: Sequence[Grade], level: int, relevant: int, nonrelevant: int) -> float:
    above, value = 0, 0.0
    for grade in seen:
        if grade is None or grade < 0:
            continue
        if grade < level:
            above += 1
        elif above == 0:
            value += 1
        else:
            value += 1 - min(above, relevant) / min(relevant, nonrelevant)
    return value / relevant


def random_rankings(pool: Counter[Grade], depth: int) -> Iterator[tuple[tuple[Grade, ...], Fraction]]:
    """Every ranking of `depth` documents of the pool that grades can tell apart, with its probability."""
    if depth == 0:
        yield (), Fraction(1)
        return
    size = pool.total()
    for grade in sorted(pool, key=lambda g: (g is None, g)):
        rest = pool - Counter({grade: 1})
        for tail, chance in random_rankings(rest, depth - 1):
            yield (grade, *tail), chance * Fraction(pool[grade], size)


def moments(measure: Measure, pool: Counter[Grade], outside: Sequence[int], depth: int) -> tuple[float, float]:
    """Mean and variance over all random rankings of `depth` documents; `outside`: grades judged but not in the pool."""
    judged = [*(g for g in pool.elements() if g is not None), *outside]
    drawn = [(score(measure, ranking, judged), chance) for ranking, chance in random_rankings(pool, depth)]
    return moments_of(drawn)


def moments_of(drawn: Sequence[tuple[float, Fraction]]) -> tuple[float, float]:
    mean = math.fsum(value * chance for value, chance in drawn)
    return mean, math.fsum((value - mean) ** 2 * chance for value, chance in drawn)

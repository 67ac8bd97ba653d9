"""Floors and checks of one measure, with documents or with chunks as what random ranking draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from falsify_adapters.core import floors, noise, orders
from falsify_adapters.core.chunk_draws import draws_within, simulate
from falsify_adapters.core.chunk_null import ChunkPool, exact_floor
from falsify_adapters.core.gate import kernel_grade, own_values
from falsify_adapters.core.noise_laws import noise_kinds
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints, Judgments, Pool
from falsify_adapters.pool import Entrant

DRAWS = 1000  # random rankings, at most
MEANS = 20_000  # means of several runs, drawn again from those


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """What random documents are drawn for. depth: (Q,) documents retrieved, N or more for all; chunks: where chunks
    are drawn instead; seed: of all draws."""

    judgments: Judgments
    pool: Pool
    depth: Ints
    chunks: ChunkPool | None
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """A floor: (Q,) per query, its mean and the standard error of that (0 where exact), the standard deviation of one
    noise run's mean score, how it was found, the uniform floor beside it where chunks are drawn, the ceiling; draws:
    mean scores of simulated noise runs, or None."""

    per_query: Floats
    mean: float
    se: float
    sd: float
    method: str
    uniform: float | None
    ceiling: float
    draws: Floats | None


def floor_of(measure: Measure, bench: Bench) -> Floor:
    """The floor of a measure, and the ceiling of lists as deep as the bench says."""
    judgments, pool, depth = bench.judgments, bench.pool, np.minimum(bench.depth, bench.pool.size)
    grade = kernel_grade(measure, judgments)
    everyone = np.arange(judgments.n_queries, dtype=np.int64)
    limit = np.minimum(pool.size, depth.max(initial=0))
    ceiling = float(grade(orders.ideal_hits(measure, judgments, pool.inside, limit), everyone, limit).mean())
    uniform = floors.expectation(measure, judgments, pool.size, depth, pool.inside)
    if bench.chunks is None:
        variance = floors.variance(measure, judgments, pool.size, depth, pool.inside)
        if variance is not None:
            sd = float(np.sqrt(variance.sum())) / judgments.n_queries
        else:
            kinds = noise_kinds(measure, judgments, pool.size, depth, pool.inside, _rng(bench))
            sd = kinds.law(kinds.at(1.0), 1).sd
        return Floor(uniform, float(uniform.mean()), 0.0, sd, "exact", None, ceiling, None)
    chunks, there = bench.chunks, bench.depth > 0
    n_draws = draws_within(measure, judgments.n_queries, chunks.chunks, chunks.depth)
    drawn, draws = simulate(measure, judgments, chunks.chunks, chunks.weight, chunks.depth, n_draws, _rng(bench), grade)
    exact = exact_floor(measure, judgments, chunks)
    per_query = np.where(there, drawn if exact is None else exact, 0.0)
    draws = draws * float(there.mean())  # queries without a list score 0
    sd = float(draws.std(ddof=1))
    se, method = (sd / float(np.sqrt(n_draws)), "simulated") if exact is None else (0.0, "chunks")
    return Floor(per_query, float(per_query.mean()), se, sd, method, float(uniform.mean()), ceiling, draws)


def _rng(bench: Bench) -> Generator:
    return np.random.default_rng(bench.seed)


def check1(
    measure: Measure,
    bench: Bench,
    floor: Floor,
    measured: float,
    seeds: int,
    alpha: float,
    candidates: Mapping[str, int],
    rounding: float,
) -> dict[str, Any]:
    """Check 1 as plain data. Where chunks are drawn, p comes from simulated noise runs, and what is said of other
    pools from the uniform pool that has the same floor."""
    judgments, pool = bench.judgments, bench.pool
    size, depth, inside = pool.size, np.minimum(bench.depth, pool.size), pool.inside
    if floor.draws is not None:
        size = np.full(judgments.n_queries, _equal_pool(measure, bench, floor.mean))
        depth = np.minimum(bench.depth, size)
    found = noise.check1(
        measure, judgments, size, depth, inside, measured, seeds, _rng(bench), alpha=alpha, ceiling=floor.ceiling,
        candidates=candidates, rounding=rounding,
    )  # fmt: skip
    if floor.draws is not None:
        rng = _rng(bench)
        means = rng.choice(floor.draws, (MEANS, seeds)).mean(axis=1) + (floor.mean - floor.draws.mean())
        slack = max(rounding, 1e-12)
        above = (1 + int((means >= measured - slack).sum())) / (1 + MEANS)
        below = (1 + int((means <= measured + slack).sum())) / (1 + MEANS)
        p = min(2 * min(above, below), 1.0)
        verdict = "pass" if p > alpha else "above" if above < below else "below"
        found = replace(
            found, expected=floor.mean, sd=floor.sd / seeds**0.5, ratio=measured / floor.mean, p=p, verdict=verdict
        )
    row = asdict(found)
    return row | {
        "ci": _pair(found.ci),
        "implied_n_ci": _pair(found.implied_n_ci),
        "candidates": list(row["candidates"]),
    }


def _pair(ends: tuple[Any, Any] | None) -> list[Any] | None:
    return None if ends is None else list(ends)


def _equal_pool(measure: Measure, bench: Bench, mean: float) -> int:
    """The number of documents whose uniform floor is nearest to `mean` (bisection: floors fall as N grows)."""
    judgments, pool = bench.judgments, bench.pool
    low = int(np.bincount(judgments.query, minlength=judgments.n_queries).max(initial=1))
    high = max(int(pool.size.max(initial=1)) * 64, low + 1)

    def at(n: int) -> float:
        size = np.full(judgments.n_queries, n)
        floor = floors.expectation(measure, judgments, size, np.minimum(bench.depth, size), pool.inside)
        return float(floor.mean())

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) > mean else (low, middle)
    return low if abs(at(low) - mean) < abs(at(high) - mean) else high


def scores(measure: Measure, entrants: Sequence[Entrant]) -> list[float]:
    """The mean score of each run."""
    out = []
    for e in entrants:
        judgments = e.coded.judgments
        out.append(float(own_values(measure, judgments, e.ranked.lists, kernel_grade(measure, judgments)).mean()))
    return out


def overlap(
    measure: Measure, entrants: Sequence[Entrant], bench: Bench, alpha: float
) -> tuple[dict[str, Any] | None, str | None]:
    """The two runs that have the most in common at the top, p corrected for the number of pairs; and why some pair or
    all of them were not tested. Runs are compared in the units that they rank: in chunks only where their number is
    known, and never a run of chunks with one of documents."""
    import polars as pl

    if len(entrants) < 2:
        return None, None
    k, n_queries = measure.cutoff or 10, bench.judgments.n_queries
    in_chunks = [_ranks_chunks(e) for e in entrants]
    pairs = [(a, b) for b in range(len(entrants)) for a in range(b) if in_chunks[a] == in_chunks[b]]
    if any(in_chunks) and not all(in_chunks):
        why = "Runs of chunks and runs of documents have no ids in common and were not held against each other."
    elif any(in_chunks) and bench.chunks is None:
        pairs, why = [], "Whether noise runs agree too much is not tested: it takes all chunk ids (--chunks FILE)."
    else:
        why = None
    if bench.chunks is None:
        pairs = [(a, b) for a, b in pairs if not in_chunks[a]]
    if not any(in_chunks) and (bench.pool.size <= k).all():
        why = f"Whether noise runs agree too much is not tested: the first {k} documents are the whole pool."
        pairs = []
    if not pairs:
        return None, why
    lists = [e.ranked.chunks if c and e.ranked.chunks else (e.ranked.docs, e.ranked.owner)
             for e, c in zip(entrants, in_chunks, strict=True)]  # fmt: skip
    vocabulary = pl.concat([ids.unique() for ids, _ in lists]).unique().sort()
    tables = [_top(ids, query, vocabulary, n_queries, k) for ids, query in lists]
    size = bench.pool.size
    n_chunks = None if bench.chunks is None else np.full(n_queries, bench.chunks.chunks.n_chunks, np.int64)
    found = [
        (
            noise.overlap(
                tables[a], tables[b], n_chunks if in_chunks[a] and n_chunks is not None else size, k, alpha=alpha
            ),
            a,
            b,
        )
        for a, b in pairs
    ]
    worst, a, b = min(found, key=lambda item: (item[0].p, item[1:]))
    p = min(worst.p * len(pairs), 1.0)
    shown = {
        "observed": worst.observed, "expected": worst.expected, "p": p, "verdict": "above" if p <= alpha else "pass",
        "pairs": len(pairs), "between": [entrants[a].path, entrants[b].path],
    }  # fmt: skip
    return shown, why


def _ranks_chunks(entrant: Entrant) -> bool:
    """Whether the mapping changed an id of the run: one of documents passes through it as it is."""
    if entrant.ranked.chunks is None:
        return False
    ids = entrant.ranked.chunks[0].unique()
    return not bool(ids.is_in(entrant.ranked.seen.unique().implode()).all())


def _top(ids: Any, query: Any, vocabulary: Any, n_queries: int, k: int) -> Ints:
    """(Q, k) codes of the first k ids of each list, -1 where it has ended."""
    from falsify_adapters.ranking import codes_of

    out = np.full((n_queries, k), -1, np.int64)
    if len(query):
        head = np.flatnonzero(np.concatenate([[True], query[1:] != query[:-1]]))
        place = np.arange(len(query)) - np.repeat(head, np.diff(np.append(head, len(query))))
        rows = np.flatnonzero(place < k)
        out[query[rows], place[rows]] = codes_of(ids.gather(rows), vocabulary)
    return out

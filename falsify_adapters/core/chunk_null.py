"""Null C where chunks are ranked: random retrieval of chunks, de-duplicated to documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from falsify_adapters.core.chunk_draws import simulate
from falsify_adapters.core.chunk_floors import expectation
from falsify_adapters.core.cross import Grade
from falsify_adapters.core.nulls import NullScores
from falsify_adapters.core.races import ChunkCounts
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints, Judgments


@dataclass(frozen=True, slots=True, eq=False)
class ChunkPool:
    """A pool in chunks. weight: (J,) chunks of each judged document, 0 where the collection has none of it; depth:
    chunks retrieved per query, None for all."""

    chunks: ChunkCounts
    weight: Ints
    depth: int | None


def chunk_null(
    measure: Measure, judgments: Judgments, pool: ChunkPool, answered: Ints, grade: Grade, n_draws: int, rng: Generator
) -> NullScores:
    """Expectation and draws. answered: (Q,) 0 for queries without a list, which score 0 under the null too.

    The expectation is exact where the list is long against the cutoff; it is simulated where the depth in chunks
    could end a list before the cutoff, and for measures without a formula.
    """
    drawn, per_draw = simulate(measure, judgments, pool.chunks, pool.weight, pool.depth, n_draws, rng, grade)
    per_query = exact_floor(measure, judgments, pool)
    there = answered > 0
    share = float(there.mean()) if len(there) else 0.0
    if per_query is None:
        se = float(per_draw.std(ddof=1) / np.sqrt(n_draws)) * share if n_draws > 1 else 0.0
        return NullScores(np.where(there, drawn, 0.0), float((drawn * there).mean()), se, per_draw * share)
    return NullScores(np.where(there, per_query, 0.0), float((per_query * there).mean()), 0.0, per_draw * share)


def exact_floor(measure: Measure, judgments: Judgments, pool: ChunkPool) -> Floats | None:
    """(Q,) the floor by quadrature, None where it has to be simulated."""
    if not measure.has_kernel:
        return None
    if pool.depth is not None and pool.depth < pool.chunks.n_chunks:
        # With k documents wanted, 2k + the chunks of the longest document hold them for all that can be measured.
        longest = int(pool.chunks.weights[-1]) if len(pool.chunks.weights) else 0
        if measure.cutoff is None or pool.depth < 2 * measure.cutoff + longest:
            return None
    return expectation(measure, judgments, pool.chunks, pool.weight)

"""Random rankings of chunks, de-duplicated to documents, as hits of the judged ones."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from falsify_adapters.core.cross import Grade, lowest_grade
from falsify_adapters.core.kernels import Hits
from falsify_adapters.core.nulls import simulated
from falsify_adapters.core.races import ChunkCounts, kinds_of
from falsify_adapters.core.sampling import BLOCK, Blocks
from falsify_adapters.errors import OptionError
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints, Judgments

SMALL = 1 << 16
WORK = 120_000_000  # chunks drawn, about, where lists are cut to some depth in chunks: a few seconds
FEWEST, MOST = 200, 1000  # random rankings of chunks
Found = tuple[Ints, Ints, Ints]  # draw, which judged document, rank


def simulate(
    measure: Measure,
    judgments: Judgments,
    chunks: ChunkCounts,
    weight: Ints,
    depth_chunks: int | None,
    n_draws: int,
    rng: Generator,
    grade: Grade,
) -> tuple[Floats, Floats]:
    """Scores of random rankings of chunks: (Q,) mean per query, (B,) mean over queries per draw.

    weight: (J,) chunk count of each judged document, 0 where it cannot be retrieved; depth_chunks: only the first so
    many chunks are retrieved, None for all; grade: how hits are graded, given min(depth_chunks, N) as the length of
    a list. Queries are drawn independently. Raises InputError as `expectation` does, OptionError for no draws.
    """
    if n_draws < 1:
        raise OptionError(f"n_draws is {n_draws}", legal="1 or more")
    if depth_chunks is not None and depth_chunks < 0:
        raise OptionError(f"depth_chunks is {depth_chunks}", legal="0 or more, or None for all chunks")
    length = chunks.n_docs if depth_chunks is None else min(depth_chunks, chunks.n_docs)
    blocks = _draws(measure, judgments, chunks, weight, depth_chunks, n_draws, rng)
    per_query, per_draw, _ = simulated(blocks, grade, judgments, np.full(judgments.n_queries, length), n_draws)
    return per_query, per_draw


def draws_within(measure: Measure, n_queries: int, chunks: ChunkCounts, depth_chunks: int | None) -> int:
    """How many random rankings are worth their time: 1000 with a cutoff; without one 200, or as many as WORK allows
    where chunks are drawn one by one."""
    if measure.cutoff is not None:
        return MOST
    if depth_chunks is None or depth_chunks >= chunks.n_chunks:
        return FEWEST
    width = _width(depth_chunks, min(depth_chunks, chunks.n_docs))
    return int(np.clip(WORK // (width * max(n_queries, 1)), FEWEST, MOST))


def _width(depth: int, cut: int) -> int:
    """Chunks drawn at a time."""
    return min(depth + depth // 4, 2 * cut) + 16


def _draws(
    measure: Measure,
    judgments: Judgments,
    chunks: ChunkCounts,
    weight: Ints,
    depth_chunks: int | None,
    n_draws: int,
    rng: Generator,
) -> Blocks:
    kind = kinds_of(judgments, chunks, weight)
    seen = (judgments.grade >= lowest_grade(measure)) & (kind >= 0)
    cut = chunks.n_docs if measure.cutoff is None else min(measure.cutoff, chunks.n_docs)
    if depth_chunks is not None and depth_chunks < chunks.n_chunks:
        cut = min(cut, depth_chunks)
    for q, (a, b) in enumerate(zip(judgments.start[:-1], judgments.start[1:], strict=True)):
        own, grades = kind[a:b][seen[a:b]], judgments.grade[a:b][seen[a:b]].astype(np.int64)
        if not len(own) or not cut:
            continue
        left = chunks.documents - np.bincount(own, minlength=len(chunks.weights))
        if depth_chunks is not None and depth_chunks < chunks.n_chunks:
            draw, which, rank = _from_the_top(chunks, own, left, depth_chunks, cut, n_draws, rng)
        else:
            draw, which, rank = _race(chunks, own, left, cut, n_draws, rng)
        if len(draw):
            order = np.lexsort((rank, draw))
            cells, pair = np.unique(draw[order], return_inverse=True)
            hits = Hits(pair.astype(np.int64), rank[order], grades[which[order]])
            yield cells * judgments.n_queries + q, hits


def _race(
    chunks: ChunkCounts, own: Ints, left: Ints, cut: int, n_draws: int, rng: Generator
) -> tuple[Ints, Ints, Ints]:
    """The judged documents at rank `cut` or above, all chunks ranked.

    Only the judged documents are followed: between two arrivals the others come in binomial numbers.
    """
    rate = chunks.weights.astype(np.float64)
    found = []
    step = max(1, BLOCK // max(len(own), len(rate)))
    for first in range(0, n_draws, step):
        rows = np.arange(first, min(first + step, n_draws))
        arrival = rng.standard_exponential((len(rows), len(own))) / rate[own]
        order = np.argsort(arrival, axis=1)
        waits = np.diff(np.take_along_axis(arrival, order, axis=1), axis=1, prepend=0.0)
        waiting = np.tile(left, (len(rows), 1))
        ahead = np.zeros(len(rows), np.int64)
        for i in range(len(own)):
            came = rng.binomial(waiting, -np.expm1(-rate * waits[:, i, None]))
            waiting -= came
            ahead += came.sum(1)
            rank = ahead + i + 1
            keep = rank <= cut
            rows, order, waits = rows[keep], order[keep], waits[keep]
            waiting, ahead = waiting[keep], ahead[keep]
            found.append((rows, order[:, i], rank[keep]))
            if not len(rows):
                break
    return _joined(found)


def _from_the_top(
    chunks: ChunkCounts, own: Ints, left: Ints, depth: int, cut: int, n_draws: int, rng: Generator
) -> Found:
    """The same with the first `depth` chunks ranked. Chunks are drawn one by one, repeats passed over, until there
    are `depth` of them or `cut` documents."""
    # Chunks numbered document by document: the judged ones first, then the others by chunk count.
    last = np.cumsum(np.concatenate([chunks.weights[own], chunks.weights * left]))
    start, each = last - np.concatenate([chunks.weights[own], chunks.weights * left]), chunks.weights
    number = np.concatenate([np.arange(len(own)), len(own) + np.cumsum(left) - left])
    size = np.concatenate([each[own], each])
    total = int(last[-1])
    found = []
    width = _width(depth, cut)

    def of(chunk: Ints) -> Ints:
        group = np.searchsorted(last, chunk, side="right")
        return np.asarray(number[group] + (chunk - start[group]) // size[group])

    # Looked up where that is cheaper than a search for every chunk drawn.
    table = of(np.arange(total)) if total <= n_draws * width else None
    step = max(1, BLOCK // width)
    for first in range(0, n_draws, step):
        rows = np.arange(first, min(first + step, n_draws))
        drawn = np.zeros((len(rows), 0), np.int64)
        while len(rows):
            drawn = np.concatenate([drawn, rng.integers(0, total, (len(rows), width))], axis=1)
            fresh = _first_in_row(drawn)
            fresh &= np.cumsum(fresh, axis=1) <= depth
            document = of(drawn) if table is None else table[drawn]
            new = _first_in_row(document) & fresh
            rank = np.cumsum(new, axis=1, dtype=np.int64)
            done = (fresh.sum(1) == depth) | (rank[:, -1] >= cut)
            row, column = np.nonzero(new & (document < len(own)) & (rank <= cut) & done[:, None])
            found.append((rows[row], document[row, column], rank[row, column]))
            rows, drawn = rows[~done], drawn[~done]
    return _joined(found)


def _first_in_row(values: Ints) -> NDArray[np.bool_]:
    """Whether each number is the first of its kind in its row."""
    if values.size and int(values.max()) < SMALL:  # numpy sorts these by radix, five times faster
        values = values.astype(np.uint16)
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    first = np.ones(values.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    out = np.empty_like(first)
    np.put_along_axis(out, order, first, axis=1)
    return out


def _joined(found: list[Found]) -> Found:
    draw, which, rank = (np.concatenate(x) for x in zip(*found, strict=True))
    return draw, which, rank

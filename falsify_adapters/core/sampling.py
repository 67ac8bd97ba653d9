"""Random draws for the nulls, as hits that a measure can be graded on.

Each function yields blocks of (cells, hits): a cell is one query in one draw, numbered draw * Q + query. Cells that
are not listed have no hit, hence no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from falsify_adapters.core.draws import hypergeometric
from falsify_adapters.core.kernels import Hits
from falsify_adapters.model import Codes, Ints, Judgments, Lists

BLOCK = 2_000_000  # random numbers held at a time

Blocks = Iterator[tuple[Ints, Hits]]


def narrow(n: int) -> np.dtype[np.signedinteger]:
    """The smallest type that holds codes below n: draws are many, and reading them is what takes the time."""
    return np.dtype(np.int16 if n <= np.iinfo(np.int16).max else np.int32)


def matches(drawn: NDArray[np.signedinteger], row: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Where drawn[row[p], b] == wanted[p]: the pairs p and the draws b, pairs ascending."""
    step = max(1, 8 * BLOCK // max(drawn.shape[1], 1))
    found = [np.zeros((2, 0), np.int64)]
    for a in range(0, len(row), step):
        part = slice(a, a + step)
        cell = np.flatnonzero(drawn[row[part]] == wanted[part, None].astype(drawn.dtype))
        found.append(np.stack(np.divmod(cell + a * drawn.shape[1], drawn.shape[1])))
    pair, draw = np.concatenate(found, axis=1)
    return pair, draw


def deal_queries(n: int, n_draws: int, rng: Generator) -> NDArray[np.signedinteger]:
    """(n, n_draws) random bijections of n queries, one a column (null A)."""
    order = np.tile(np.arange(n, dtype=narrow(n)), (n_draws, 1))
    return np.ascontiguousarray(rng.permuted(order, axis=1).T)


def draw_labels(tickets: Codes, n_docs: int, want: int, n_draws: int, rng: Generator) -> Codes:
    """(n_draws, want) distinct labels, drawn one after another in proportion to their tickets, order forgotten.

    tickets: one label per (query, gold document), so that drawing a ticket draws a label by its frequency. Drawing
    with replacement and passing over labels already drawn is successive sampling without replacement (and the
    exponential race with frequencies as rates), so only as many tickets are drawn as are needed.
    """
    if want == 1:
        return tickets[rng.integers(0, len(tickets), (n_draws, 1))]
    frequency = np.bincount(tickets, minlength=n_docs)
    labels = np.flatnonzero(frequency)
    if want >= len(labels):
        return np.tile(labels.astype(np.int32), (n_draws, 1))
    share = frequency[labels] / len(tickets)
    m = _tickets_needed(share, want)
    if 2 * m >= len(labels):
        block = max(1, BLOCK // len(labels))
        parts = [min(block, n_draws - a) for a in range(0, n_draws, block)]
        race = (np.argpartition(rng.standard_exponential((p, len(labels))) / share, want - 1, axis=1) for p in parts)
        return np.asarray(labels[np.concatenate([r[:, :want] for r in race])], np.int32)
    out = np.empty((n_draws, want), np.int32)
    rows = np.arange(n_draws)
    drawn = np.zeros((n_draws, 0), np.int32 if n_docs * 8 * m < 2**31 else np.int64)  # half the bytes, twice the speed
    while len(rows):  # rows with too many repeats go on with what they have: drawing them anew would favour some
        more = tickets[rng.integers(0, len(tickets), (len(rows), m), dtype=np.int32)].astype(drawn.dtype)
        drawn = np.concatenate([drawn, more], axis=1)
        width = drawn.shape[1]
        bits = width.bit_length()  # label and place in one number, taken apart by shifts: division is what would cost
        if n_docs << bits >= 2**31:
            drawn = drawn.astype(np.int64)
        key = np.sort((drawn << bits) | np.arange(width, dtype=drawn.dtype), axis=1)
        label, when = key >> bits, key & ((1 << bits) - 1)
        when[:, 1:][label[:, 1:] == label[:, :-1]] = width
        last = np.partition(when, want - 1, axis=1)[:, want - 1]
        done = last < width
        out[rows[done]] = label[done][when[done] <= last[done, None]].reshape(-1, want)
        rows, drawn = rows[~done], drawn[~done]
    return out


def _tickets_needed(share: NDArray[np.float64], want: int) -> int:
    """Tickets that mostly hold `want` distinct labels; more than half the labels where the race is the shorter way."""
    m = want
    while 2 * m < len(share) and float(-np.expm1(m * np.log1p(-share)).sum()) < want + 2 * np.sqrt(want):
        m += max(m // 8, 1)
    return m


def label_draws(
    judgments: Judgments, lists: Lists, low: int, n_draws: int, rng: Generator, *, keep_from: int | None = None
) -> tuple[Ints, Hits]:
    """Null D: each query's gold labels (grades from `low`) replaced by as many others, its grades dealt to them.

    With `keep_from` (bpref: 0) the query's own judgments from that grade to below `low` stay where they are, except
    where one of them was drawn as gold. Returns all cells with hits, and the hits.
    """
    gold = judgments.grade >= low
    tickets = judgments.doc[gold]
    count = np.bincount(judgments.query[gold], minlength=judgments.n_queries)
    alone, several = rng.spawn(2)
    parts = []
    if keep_from is None:
        parts.append(_single_draws(judgments, lists, low, np.flatnonzero(count == 1), tickets, n_draws, alone))
        count[count == 1] = 0
    row_of = np.zeros(judgments.n_docs, np.int32)  # of the list, from 1; 0: not in it
    for q in np.flatnonzero(count):
        own = slice(judgments.start[q], judgments.start[q + 1])
        doc, grade = judgments.doc[own], judgments.grade[own]
        mine = grade[grade >= low]
        # Drawn even where the list holds none of them: what one query draws may not depend on another's list.
        label = draw_labels(tickets, judgments.n_docs, len(mine), n_draws, several)
        dealt = mine if (mine == mine[0]).all() else several.permuted(np.tile(mine, (n_draws, 1)), axis=1)
        listed = slice(lists.start[q], lists.start[q + 1])
        row_of[lists.doc[listed]] = np.arange(1, listed.stop - listed.start + 1)
        found = row_of[label]
        draw, column = np.nonzero(found)
        place, value = found[draw, column], np.broadcast_to(dealt, label.shape)[draw, column]
        if keep_from is not None:
            stays = (grade >= keep_from) & (grade < low) & (row_of[doc] > 0)
            more, which = np.nonzero(~_drawn_among(doc[stays], label))
            draw, place = np.concatenate([draw, more]), np.concatenate([place, row_of[doc[stays]][which]])
            value = np.concatenate([value, grade[stays][which]])
        row_of[lists.doc[listed]] = 0
        if len(draw):
            cell = draw.astype(np.int64) * judgments.n_queries + q
            parts.append(_listed(cell, lists, place.astype(np.int64) + (listed.start - 1), value))
    return _joined(parts)


def _single_draws(
    judgments: Judgments, lists: Lists, low: int, queries: Ints, tickets: Codes, n_draws: int, rng: Generator
) -> tuple[Ints, Hits]:
    """Null D of queries with one gold document: one ticket each, all at once."""
    code = narrow(judgments.n_docs)
    label = tickets.astype(code)[rng.integers(0, max(len(tickets), 1), (len(queries), n_draws), dtype=np.int32)]
    place = np.full(judgments.n_queries, -1)
    place[queries] = np.arange(len(queries))
    drawable = np.zeros(judgments.n_docs, bool)
    drawable[tickets] = True
    row = np.flatnonzero((place[lists.query] >= 0) & drawable[lists.doc])
    pair, draw = matches(label, place[lists.query[row]], lists.doc[row].astype(np.int64))
    grade = np.zeros(judgments.n_queries, np.int64)
    gold = judgments.grade >= low
    grade[judgments.query[gold]] = judgments.grade[gold]
    query = lists.query[row[pair]].astype(np.int64)
    return _listed(draw * judgments.n_queries + query, lists, row[pair], grade[query])


def _joined(parts: list[tuple[Ints, Hits]]) -> tuple[Ints, Hits]:
    """Blocks with different cells as one."""
    offset = np.cumsum([0] + [len(cells) for cells, _ in parts])
    none = np.zeros(0, np.int64)
    cells = np.concatenate([none, *(cells for cells, _ in parts)])
    pair = np.concatenate([none, *(h.pair + o for (_, h), o in zip(parts, offset, strict=False))])
    hits = [h for _, h in parts]
    rank, grade = (np.concatenate([none, *rows]) for rows in ([h.rank for h in hits], [h.grade for h in hits]))
    first = [h.first for h in hits if h.first is not None]
    last = [h.last for h in hits if h.last is not None]
    bounds = (np.concatenate([none, *first]), np.concatenate([none, *last])) if first else ()
    return cells, Hits(pair, rank, grade, *bounds)


def _drawn_among(doc: Codes, label: Codes) -> NDArray[np.bool_]:
    """(n_draws, len(doc)) whether each document was drawn."""
    out = np.zeros((len(label), len(doc)), bool)
    order = np.argsort(doc)
    at = np.searchsorted(doc[order], label)
    found = np.append(doc[order], -1)[at] == label
    row, column = np.nonzero(found)
    out[row, order[at[row, column]]] = True
    return out


def random_lists(grades: list[Ints], size: Ints, depth: Ints, n_draws: int, rng: Generator) -> Blocks:
    """Null C: `depth` documents drawn uniformly from `size`, in random order.

    grades: of each query, those of the judged documents in its pool. Yields the judged ones among the drawn.
    """
    n_queries = len(grades)
    kinds: dict[tuple[int, int, bytes], list[int]] = {}
    for q, grade in enumerate(grades):
        m = int(min(depth[q], size[q]))
        if len(grade) and m:
            kinds.setdefault((int(size[q]), m, np.sort(grade).tobytes()), []).append(q)
    for (n, m, _), queries in kinds.items():
        grade = np.sort(grades[queries[0]])
        expected = len(queries) * (1 + len(grade) * m // n)
        rows = max(1, BLOCK // expected)
        for first in range(0, n_draws, rows):
            some = min(rows, n_draws - first)
            cell, rank, dealt = _shuffled(grade, n, m, some * len(queries), rng)
            if len(cell):
                draw, which = cell // len(queries) + first, cell % len(queries)
                yield _as_hits(draw * n_queries + np.array(queries, np.int64)[which], rank, dealt)


def _shuffled(grade: Ints, n: int, m: int, cells: int, rng: Generator) -> tuple[Ints, Ints, Ints]:
    """Judged documents among the first m of n shuffled ones, for many cells: (cell, rank, grade)."""
    low, chance = hypergeometric(n, len(grade), m)
    # How many cells hold how many judged documents, then which cells: rare hits cost nothing.
    often = rng.multinomial(cells, chance)
    often[: max(0, 1 - low)] = 0
    chosen = rng.choice(cells, int(often.sum()), replace=False)
    out = [(np.zeros(0, np.int64),) * 3]
    for count, where in enumerate(np.split(chosen, np.cumsum(often)[:-1]), start=low):
        if len(where):
            rank = distinct(m, count, len(where), rng) + 1
            same = bool((grade == grade[0]).all())
            dealt = np.full(rank.shape, grade[0]) if same else grade[distinct(len(grade), count, len(where), rng)]
            out.append((np.repeat(where, count), rank.ravel(), dealt.ravel()))
    cell, rank, dealt = (np.concatenate(x) for x in zip(*out, strict=True))
    return cell, rank, dealt


def distinct(n: int, count: int, rows: int, rng: Generator) -> Ints:
    """(rows, count) ordered draws without replacement from range(n)."""
    if 2 * count * count > n:
        block = max(1, BLOCK // n)
        parts = [min(block, rows - a) for a in range(0, rows, block)]
        return np.concatenate([np.argsort(rng.random((part, n)), axis=1)[:, :count] for part in parts])
    out = rng.integers(0, n, (rows, count))
    todo = np.arange(rows)
    while len(todo):  # a row with a repeat is drawn anew as a whole, which keeps all ordered rows equally likely
        line = np.sort(out[todo], axis=1)
        todo = todo[(line[:, 1:] == line[:, :-1]).any(axis=1)]
        out[todo] = rng.integers(0, n, (len(todo), count))
    return out


def _listed(cell: Ints, lists: Lists, row: Ints, grade: NDArray[np.integer]) -> tuple[Ints, Hits]:
    """Hits at the ranks of these rows of the lists, with their ties where values are averaged over them."""
    cells, hits = _as_hits(cell, lists.rank[row], grade)
    if not lists.averaged:
        return cells, hits
    order = np.lexsort((lists.rank[row], cell))
    return cells, replace(
        hits, first=lists.tie_first[row][order].astype(np.int64), last=lists.tie_last[row][order].astype(np.int64)
    )


def _as_hits(cell: Ints, rank: NDArray[np.integer], grade: NDArray[np.integer]) -> tuple[Ints, Hits]:
    order = np.lexsort((rank, cell))
    cells, pair = np.unique(cell[order], return_inverse=True)
    return cells, Hits(pair.astype(np.int64), rank[order].astype(np.int64), grade[order].astype(np.int64))

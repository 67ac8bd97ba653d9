"""Rank once: query sets, self matches, ties, duplicates and depth are settled here and nowhere else.

The order of the steps is part of the meaning: self documents are dropped, documents are ranked (score as a 32-bit
float, descending; equal scores by document id, descending by bytes: trec_eval's rule), repeated documents keep their
best place, lists are cut.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.errors import InputError
from falsify_adapters.model import Codes, Flag, Floats, Ints, Judgments, Lists, Qrels, Run
from falsify_adapters.ranking_notes import about_order, about_self, nothing_in_common, some, two_scores

if TYPE_CHECKING:
    import polars as pl

    from falsify_adapters.units import Units

Ties = Literal["trec", "input", "expected"]
Duplicates = Literal["error", "best"]


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Qrels in codes with the ids behind them: `docs[code]` is a document id, codes ascend with its bytes."""

    judgments: Judgments
    docs: pl.Series
    path: str

    def subset(self, queries: Collection[str]) -> Coded:
        """Only these queries (those of them that are judged), the document codes unchanged."""
        j = self.judgments
        keep = np.fromiter((q in queries for q in j.queries), bool, j.n_queries)
        rows = np.repeat(keep, np.diff(j.start))
        start = np.concatenate([[0], np.cumsum(np.diff(j.start)[keep])]).astype(np.int64)
        names = tuple(q for q, k in zip(j.queries, keep, strict=True) if k)
        return replace(self, judgments=Judgments(names, j.n_docs, start, j.doc[rows], j.grade[rows]))


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A ranked run and what was found on the way.

    missing: judged queries that the run does not answer; ignored: queries that are only in the run; retrieved: (Q,)
    what was retrieved, in the run's own units (chunks, where they are mapped to documents);
    docs: document ids of the lists, one list after the other, repeats included; blocks: the query of each list in
    `docs`, in that order; seen: every document id of the run as read, repeats included, also those that were cut,
    dropped or listed for a query without judgments (for counting a pool); chunks: where chunks were mapped, their ids
    and the query of each, as `docs` and `owner` are for documents; flags: the findings.
    """

    lists: Lists
    retrieved: Ints
    missing: tuple[str, ...]
    ignored: tuple[str, ...]
    docs: pl.Series
    blocks: Codes
    seen: pl.Series
    flags: tuple[Flag, ...]
    chunks: tuple[pl.Series, Codes] | None = None

    @property
    def owner(self) -> Codes:
        """(len(docs),) the query of each of `docs`."""
        return np.repeat(self.blocks, self.lists.depth[self.blocks])


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of a run on the way to its lists: row is the place in the source, single the score that ranks."""

    row: NDArray[np.int64]
    query: Codes
    score: Floats
    single: NDArray[np.float32]
    doc: pl.Series

    def take(self, rows: NDArray[np.int64]) -> Table:
        return Table(self.row[rows], self.query[rows], self.score[rows], self.single[rows], self.doc.gather(rows))


def code_qrels(qrels: Qrels) -> Coded:
    """Qrels in codes: queries and documents ascending by the bytes of their ids."""
    docs = qrels.doc.unique().sort()
    doc = codes_of(qrels.doc, docs)
    names = sorted(qrels.queries)  # code points ascend with UTF-8 bytes
    place = {q: i for i, q in enumerate(names)}
    query = np.array([place[q] for q in qrels.queries], np.int32)[qrels.query]
    rows = np.lexsort((doc, query))
    start = np.searchsorted(query[rows], np.arange(len(names) + 1)).astype(np.int64)
    grade = qrels.grade[rows].astype(np.int32)
    return Coded(Judgments(tuple(names), len(docs), start, doc[rows], grade), docs, qrels.source.path)


def codes_of(ids: pl.Series, docs: pl.Series) -> Codes:
    """(n,) place of each id in the sorted distinct `docs`, -1 where it is not among them."""
    import polars as pl

    found = ids.cast(pl.Enum(docs), strict=False).to_physical().cast(pl.Int32).fill_null(-1)
    return found.to_numpy().astype(np.int32, copy=False)


def rank(
    run: Run,
    coded: Coded,
    *,
    ties: Ties = "trec",
    duplicates: Duplicates = "error",
    depth: int | None = None,
    max_docs: int | None = None,
    drop_self: bool = False,
    units: Units | None = None,
) -> Ranked:
    """Rank a run against coded qrels.

    units: what maps its chunks to documents. depth: cut the lists to so many documents (chunks, where there are
    `units`); max_docs: to so many documents. Raises InputError where no query or no document joins, where a document
    stands twice in a list with two scores (unless `duplicates="best"`), where a chunk has no document, or where
    `drop_self` would drop every document or one that is judged relevant.
    """
    judgments = coded.judgments
    flags = list(run.flags)
    query, missing, ignored = _join_queries(run, coded)
    table = Table(np.arange(len(query)), query, run.score, _as_float32(run.score), run.doc)
    if ignored:
        table = table.take(np.flatnonzero(query >= 0))
    retrieved = chunks = None
    if units is not None:
        table, chunks, flag = _in_documents(table, run, judgments, ties, duplicates, depth, units)
        retrieved = np.bincount(chunks[1], minlength=judgments.n_queries).astype(np.int64)
        depth, duplicates = max_docs, "best"
        flags += flag
    if drop_self:
        table, flag = _drop_self(table, run, coded)
        flags += flag
    table = _in_order(table, ties, judgments.n_queries)
    table, flag = _one_of_each(table, run, judgments, duplicates)
    if units is None:
        flags += [*about_order(table, run), *flag]
    code = codes_of(table.doc, coded.docs)
    if not (code >= 0).any():
        raise nothing_in_common(run, coded.docs, coded.path)
    cut = min((k for k in (depth, max_docs) if k is not None), default=None)
    lists, head, kept = _lists(table, code, judgments.n_queries, cut)
    lists = replace(lists, averaged=ties == "expected")
    if not drop_self:
        flags += about_self(table, head, judgments)
    docs = table.doc if kept is None else table.doc.gather(kept)
    seen = run.doc if units is None else units.documents(run.doc, run.source.path)
    return Ranked(
        lists, lists.depth if retrieved is None else retrieved, missing, ignored, docs, table.query[head], seen,
        tuple(flags), chunks,
    )  # fmt: skip


def no_run(coded: Coded) -> Ranked:
    """A run that answers no query, for what needs a pool and no run."""
    import polars as pl

    n, none = coded.judgments.n_queries, np.zeros(0, np.int32)
    ids = pl.Series("doc", [], dtype=pl.String)
    nothing = np.zeros(n, np.int64)
    lists = Lists(nothing, np.zeros(n + 1, np.int64), none, none, none, none, np.zeros(n, np.int32), False)
    return Ranked(lists, nothing, coded.judgments.queries, (), ids, none, ids, ())


def _in_documents(
    table: Table, run: Run, judgments: Judgments, ties: Ties, duplicates: Duplicates, depth: int | None, units: Units
) -> tuple[Table, tuple[pl.Series, Codes], list[Flag]]:
    """Chunks in order and cut, each under the id of its document; a document has the score of its best chunk."""
    table = _in_order(table, ties, judgments.n_queries)
    table, flag = _one_of_each(table, run, judgments, duplicates)
    flags = about_order(table, run)
    if depth is not None:
        head = np.flatnonzero(np.concatenate([[True], table.query[1:] != table.query[:-1]]))
        place = np.arange(len(table.query)) - np.repeat(head, np.diff(np.append(head, len(table.query))))
        table = table.take(np.flatnonzero(place < depth))
    docs = units.documents(table.doc, run.source.path)
    changed = int((docs != table.doc).sum())
    note = f"{changed} of {len(docs)} retrieved ids were mapped to documents by {units.name}; best chunk counts (MaxP)."
    return replace(table, doc=docs), (table.doc, table.query), [*flags, *flag, Flag("units_mapped", note)]


def _as_float32(score: Floats) -> NDArray[np.float32]:
    """Scores as they rank. Those beyond the range of a 32-bit float are infinite, and tied, as in trec_eval."""
    with np.errstate(over="ignore"):
        return score.astype(np.float32) + np.float32(0)  # -0.0 and 0.0 are one score


def _join_queries(run: Run, coded: Coded) -> tuple[Codes, tuple[str, ...], tuple[str, ...]]:
    """(L,) code of each row's query, -1 for queries without judgments; missing and ignored query ids."""
    judgments = coded.judgments
    place = {q: i for i, q in enumerate(judgments.queries)}
    code = np.array([place.get(q, -1) for q in run.queries], np.int32)
    here = set(run.queries)
    missing = tuple(q for q in judgments.queries if q not in here)
    ignored = tuple(sorted(q for q in run.queries if q not in place))
    padded = {q.lstrip("0"): q for q in missing if q.isdigit()}
    twins = [(q, padded[q.lstrip("0")]) for q in ignored if q.isdigit() and q.lstrip("0") in padded]
    if twins:
        raise InputError(
            f"{len(twins)} query ids differ from those of the qrels {coded.path} in leading zeros alone: "
            f"{twins[0][0]!r} in the run, {twins[0][1]!r} there",
            where=run.source.path, legal="query ids that are spelled alike", mend="Bring both to one spelling.",
        )  # fmt: skip
    if len(missing) == judgments.n_queries:
        raise InputError(
            f"no query of the run is judged: the run has {some(ignored)}, the qrels {coded.path} "
            f"have {some(judgments.queries)}",
            where=run.source.path,
            mend="Check that run and qrels belong together and spell query ids alike.",
        )
    return code[run.query], missing, ignored


def _drop_self(table: Table, run: Run, coded: Coded) -> tuple[Table, list[Flag]]:
    import polars as pl

    judgments = coded.judgments
    names = pl.Series(judgments.queries, dtype=pl.String).gather(table.query)
    own = (names == table.doc).to_numpy()
    if not own.any():
        return table, []
    code = codes_of(pl.Series(judgments.queries, dtype=pl.String), coded.docs)
    relevant = judgments.query[(judgments.doc == code[judgments.query]) & (judgments.grade > 0)]
    hit = np.intersect1d(table.query[own], relevant)
    if len(hit):
        raise InputError(
            "--drop-self would drop documents that are judged relevant for the query of the same id: "
            + some([judgments.queries[i] for i in hit]),
            where=run.source.path,
            mend="Query ids and document ids only look alike here: leave --drop-self out (audit beir: give "
            "--keep-identical-ids).",
        )
    if own.all():
        fault = "--drop-self leaves no document: each has the id of its own query"
        raise InputError(fault, where=run.source.path, mend="Leave --drop-self out, or check the run's ids.")
    n = int(own.sum())
    note = f"{n} documents that are their own query (same id) were" if n > 1 else "1 document that is its own query was"
    return table.take(np.flatnonzero(~own)), [Flag("self_dropped", f"{note} dropped.")]


def _in_order(table: Table, ties: Ties, n_queries: int) -> Table:
    """One block per query, in any order of queries; best first within a block."""
    same = table.query[1:] == table.query[:-1]
    blocks = int((~same).sum()) + 1
    grouped = blocks == np.count_nonzero(np.bincount(table.query, minlength=n_queries))
    if not (grouped and bool((~same | (table.single[1:] <= table.single[:-1])).all())):
        bits = table.single.view(np.uint32)
        ascending = np.where(bits >> 31, ~bits, bits | np.uint32(0x80000000))  # floats as whole numbers, order kept
        key = (table.query.astype(np.uint64) << np.uint64(32)) | (~ascending).astype(np.uint64)
        table = table.take(np.argsort(key, kind="stable"))
    if ties == "input":
        return table
    return _ties_by_id(table)


def _tied(table: Table) -> NDArray[np.bool_]:
    """(n-1,) whether a row and the next are of one query and one score."""
    return np.asarray((table.query[1:] == table.query[:-1]) & (table.single[1:] == table.single[:-1]))


def _ties_by_id(table: Table) -> Table:
    import polars as pl

    tied = _tied(table)
    if not tied.any():
        return table
    group = np.concatenate([[0], np.cumsum(~tied)])
    inside = np.zeros(len(group), bool)
    inside[1:] = tied
    inside[:-1] |= tied
    place = np.flatnonzero(inside)
    frame = pl.DataFrame({"group": group[place], "doc": table.doc.gather(place), "place": place})
    frame = frame.sort("group", "doc", descending=[False, True], maintain_order=True)
    rows = np.arange(len(group))
    rows[place] = frame["place"].to_numpy()
    return table.take(rows)


def _one_of_each(table: Table, run: Run, judgments: Judgments, policy: Duplicates) -> tuple[Table, list[Flag]]:
    """Repeated documents of a list keep their best place; two scores for one document are an error by default."""
    import polars as pl

    # Equal (query, document) pairs have equal keys; the few pairs of rows with equal keys are then compared in full.
    key = table.doc.hash().to_numpy() ^ (table.query.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    if pl.Series(key).n_unique() == len(key):
        return table, []
    ordered = np.sort(key)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    place = np.flatnonzero(np.isin(key, twice))
    frame = pl.DataFrame(
        {"query": table.query[place], "doc": table.doc.gather(place), "score": table.score[place], "place": place}
    )
    first = frame.with_columns(
        best=pl.col("place").min().over("query", "doc"), top=pl.col("score").max().over("query", "doc")
    )
    extra = first.filter(pl.col("place") != pl.col("best"))
    if not len(extra):
        return table, []
    clash = extra.filter(pl.col("score") != pl.col("top"))
    if policy == "error" and len(clash):
        best, place, *_ = clash.select("best", "place").row(0)
        raise two_scores(table, run, judgments, (best, place), clash.n_unique(["query", "doc"]))
    keep = np.ones(len(key), bool)
    keep[extra["place"].to_numpy()] = False
    what = "line repeats" if len(extra) == 1 else "lines repeat"
    scores = "the same score" if not len(clash) else "another score (the best-ranked is kept)"
    note = f"{len(extra)} {what} a document of the same list with {scores}; dropped."
    return table.take(np.flatnonzero(keep)), [Flag("duplicates_removed", note)]


def _lists(
    table: Table, code: Codes, n_queries: int, depth: int | None
) -> tuple[Lists, NDArray[np.int64], NDArray[np.int64] | None]:
    """The lists; the rows of their first documents, as in the table; the rows that the cut leaves (None: all)."""
    full = np.bincount(table.query, minlength=n_queries)
    head = np.flatnonzero(np.concatenate([[True], table.query[1:] != table.query[:-1]]))
    begin = np.zeros(n_queries, np.int64)
    begin[table.query[head]] = head
    sizes = full if depth is None else np.minimum(full, depth)
    rank = (np.arange(len(table.query)) - begin[table.query] + 1).astype(np.int32)
    kept = None
    hit = code >= 0
    if (sizes < full).any():
        inside = rank <= sizes[table.query]
        kept = np.flatnonzero(inside)
        hit &= inside
    tied = _tied(table)
    starts = np.flatnonzero(np.concatenate([[True], ~tied]))
    ends = np.append(starts[1:], len(table.query))
    # A tie group ends with the list as cut: what the cut removed cannot come back.
    place = np.flatnonzero(hit)
    place = place[np.argsort(table.query[place], kind="stable")]
    group = np.searchsorted(starts, place, side="right") - 1
    query = table.query[place]
    first = rank[starts[group]]
    last = np.minimum(first + (ends - starts)[group] - 1, sizes[query])
    pair = np.flatnonzero(tied)
    pair = pair[rank[pair] < sizes[table.query[pair]]]
    first_tie = np.zeros(n_queries, np.int32)
    first_tie[table.query[pair][::-1]] = rank[pair][::-1]  # ranks ascend within a query: the first is written last
    long = np.flatnonzero(sizes > 1)
    top = np.searchsorted(starts, begin[long], side="right") - 1
    lists = Lists(
        depth=sizes.astype(np.int64),
        start=np.searchsorted(query, np.arange(n_queries + 1)).astype(np.int64),
        rank=rank[place],
        doc=code[place],
        tie_first=first.astype(np.int32),
        tie_last=last.astype(np.int32),
        first_tie=first_tie,
        all_tied=bool(len(long) and ((ends - starts)[top] >= sizes[long]).all()),
    )
    return lists, head, kept

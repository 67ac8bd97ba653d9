"""What simulated runs are drawn from: ids of documents or chunks, and what can be told of them without a draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.core.kernels import relevant_from
from falsify_adapters.errors import InputError
from falsify_adapters.model import Ints, Pool
from falsify_adapters.pool import PoolSpec, ask
from falsify_adapters.pool_files import read_ids
from falsify_adapters.ranking import Coded, codes_of
from falsify_adapters.ranking_notes import some
from falsify_adapters.units import Units, by_separator, suggest

if TYPE_CHECKING:
    import polars as pl

    from falsify_adapters.intake import Taken
    from falsify_adapters.measures import Measure
    from falsify_adapters.noise_checks import Bench
    from falsify_adapters.registry import Registry

LOOKED_AT = 50  # lost gold documents whose spelling is looked into
BOUNDARY = r"[^\p{L}\p{N}]"


@dataclass(frozen=True, slots=True, eq=False)
class Urn:
    """Ids to draw from. ids: one query's after the other's where each has its own; start, size: (Q,) the part of each
    query; docs: (len(ids),) the document of each; units: what maps ids to documents, None where they are documents;
    unmapped: ids left out because the mapping gives them none; shared: whether all queries draw from the same;
    invented: so many more documents that have no id of their own, which are given one when they are drawn.
    """

    ids: pl.Series
    start: Ints
    size: Ints
    docs: pl.Series
    units: Units | None
    unmapped: tuple[str, ...]
    shared: bool
    invented: int = 0

    def take(self, rows: Ints) -> pl.Series:
        """The ids in these rows; those of the invented documents come after all others."""
        import polars as pl

        known = len(self.ids)
        if not self.invented:
            return self.ids.gather(rows)
        prefix = "filler"
        while bool(self.ids.str.starts_with(prefix).any()):
            prefix += "-"
        frame = pl.DataFrame({"row": rows, "id": self.ids.gather(np.minimum(rows, known - 1))})
        made = pl.lit(prefix) + pl.col("row").cast(pl.String)
        return frame.select(pl.when(pl.col("row") < known).then(pl.col("id")).otherwise(made)).to_series()

    @property
    def n_documents(self) -> int:
        """Distinct documents, invented ones among them."""
        return self.docs.n_unique() + self.invented


def urn_of_ids(ids: Iterable[str], coded: Coded, units: Units | None) -> Urn:
    """One collection for all queries, repeated ids once. Raises InputError where none is left."""
    import polars as pl

    kept = pl.Series("id", list(ids), dtype=pl.String).unique().sort()
    docs, unmapped = kept, kept.head(0)
    if units is not None:
        docs = units.apply(kept)
        lost = docs.is_null() | (docs == "")
        unmapped, kept, docs = kept.filter(lost), kept.filter(~lost), docs.filter(~lost)
    if not len(kept):
        raise InputError("there are no ids to draw from", legal="one id or more that has a document")
    n = coded.judgments.n_queries
    return Urn(
        kept, np.zeros(n, np.int64), np.full(n, len(kept), np.int64), docs, units, tuple(unmapped.to_list()), True
    )


def documents_or_chunks(ids: Iterable[str], coded: Coded, units: Units) -> Urn:
    """A pool is written in documents. One that names more judged documents after the mapping than before is in chunks,
    and is drawn from as such."""
    found = list(ids)
    plain, mapped = urn_of_ids(found, coded, None), urn_of_ids(found, coded, units)
    judged = coded.docs.implode()
    before, after = (int(urn.docs.unique().is_in(judged).sum()) for urn in (plain, mapped))
    return mapped if after > before else plain


def urn_of_lists(lists: Mapping[str, Iterable[str]], coded: Coded) -> Urn:
    """Document ids of each query's own."""
    import polars as pl

    parts = [sorted(set(lists[q])) for q in coded.judgments.queries]
    size = np.array([len(part) for part in parts], np.int64)
    ids = pl.Series("id", [i for part in parts for i in part], dtype=pl.String)
    return Urn(ids, np.cumsum(size) - size, size, ids, None, (), False)


def urn_of(
    taken: Taken, spec: PoolSpec, chunks: str | None, units: Units | None, registry: Registry, *, drop_self: bool
) -> Urn:
    """What the pool of the first run holds: chunk ids where there is a file of them, else documents as far as they are
    known by id, else the judged ones and invented others."""
    from falsify_adapters.intake import pool_sources

    first, coded = taken.entrants[0], taken.entrants[0].coded
    if chunks is not None:
        return urn_of_ids(read_ids(chunks), coded, units)
    if taken.pools[0].source == "run":
        docs = np.array(first.ranked.docs.to_list(), dtype=object)
        owner = first.ranked.owner
        return urn_of_lists({q: docs[owner == n] for n, q in enumerate(coded.judgments.queries)}, coded)
    answer = ask(str(spec).strip(), pool_sources(registry))[1] if taken.pools[0].source in ("file", "candidates") else 0
    if isinstance(answer, int):
        return urn_of_number(taken.pools[0], coded)
    if isinstance(answer, Mapping):
        lists = {q: set(answer[q]) - ({q} if drop_self else set()) for q in coded.judgments.queries}
        return urn_of_lists(lists, coded)
    return urn_of_ids(answer, coded, None) if units is None else documents_or_chunks(answer, coded, units)


def urn_of_number(pool: Pool, coded: Coded) -> Urn:
    """The judged documents, and invented ones up to N."""
    n, size = coded.judgments.n_queries, int(pool.size.max(initial=0))
    ids = coded.docs.alias("id")
    return Urn(
        ids, np.zeros(n, np.int64), np.full(n, size, np.int64), ids, None, (), True, invented=size - len(coded.docs)
    )


def faults(measure: Measure, urn: Urn, coded: Coded, bench: Bench, *, drop_self: bool) -> tuple[list[str], list[str]]:
    """What does not fit the floor, and what does but should be known: sentences that begin with N, units or gold."""
    wrong = [*_size(urn, bench, drop_self), *_unmapped(urn)]
    judgments = coded.judgments
    gold = np.unique(judgments.doc[judgments.grade >= relevant_from(measure)])
    docs = urn.docs.unique()
    place = codes_of(coded.docs, docs.sort())
    lost = coded.docs.gather(gold[place[gold] < 0])
    if not len(lost):
        return wrong, []
    told = _cut_too_much(urn, lost) or _not_cut(urn, lost) or _otherwise(docs, lost)
    do = "does" if len(lost) == 1 else "do"
    outside = f"{len(lost)} of {len(gold)} gold documents {do} not occur among the documents of the pool"
    if told:
        return [*wrong, f"{told} ({outside})."], []
    sentence = f"gold: {outside}: {some(lost.sort().to_list())}."
    if len(lost) == len(gold):
        return [*wrong, sentence], []
    return wrong, [f"{sentence} The floor counts them as out of reach."]


def _size(urn: Urn, bench: Bench, drop_self: bool) -> list[str]:
    under = "" if urn.units is None else f" under {urn.units.name}"
    if not urn.shared:
        off = int((urn.size != bench.pool.size).sum())
        return [f"N: {off} queries have other pools than the floor counts with."] if off else []
    n, has, out = int(bench.pool.size.max(initial=0)), urn.n_documents, []
    # Where queries are documents themselves and are dropped, each pool may be one short of the collection.
    if n not in ({has, has - 1} if drop_self else {has}):
        out.append(f"N: the floor is for {n} documents, and the {len(urn.ids)} ids are {has} documents{under}.")
    if bench.chunks is not None and (bench.chunks.chunks.n_chunks, bench.chunks.chunks.n_docs) != (len(urn.ids), has):
        counts = bench.chunks.chunks
        out.append(
            f"units: the floor is for {counts.n_chunks} chunks of {counts.n_docs} documents, and the ids are "
            f"{len(urn.ids)} chunks of {has}{under}."
        )
    return out


def _unmapped(urn: Urn) -> list[str]:
    if not urn.unmapped or urn.units is None:
        return []
    return [f"units: {urn.units.name} gives {len(urn.unmapped)} ids no document: {some(urn.unmapped)}."]


def _cut_too_much(urn: Urn, lost: pl.Series) -> str:
    """Where ids go on after a lost gold document's id, and the mapping ends before it."""
    if urn.units is None:
        return ""
    for gold in lost.sort().head(LOOKED_AT).to_list():
        near = (urn.docs.str.len_chars() < len(gold)) & urn.ids.str.starts_with(gold)
        near &= urn.ids.str.slice(len(gold), 1).str.contains(f"^$|{BOUNDARY}")
        if near.any():
            at = int(near.arg_max() or 0)
            return (
                f"units: {urn.units.name} makes {urn.docs[at]!r} of {urn.ids[at]!r}, and the qrels have the document "
                f"{gold!r}"
            )
    return ""


def _not_cut(urn: Urn, lost: pl.Series) -> str:
    """Where the ids are chunks of gold documents, and no mapping makes them so."""
    found = suggest(urn.docs, lost)
    if found is None:
        return ""
    mark, explained, _ = found
    documents = by_separator(mark).apply(urn.docs.unique()).unique()
    if explained <= int(documents.is_in(lost.implode()).sum()):  # one each: an ending, and no number of a chunk
        return ""
    said = "the ids are taken for documents" if urn.units is None else f"{urn.units.name} does not cut them"
    return f"units: {explained} ids are chunks of gold documents by the separator {mark!r}, and {said}"


def _otherwise(docs: pl.Series, lost: pl.Series) -> str:
    """Where a document of the pool has the same letters and digits as a lost gold document."""
    import polars as pl

    ours = pl.DataFrame({"gold": lost, "key": _plain(lost)}).filter(pl.col("key") != "")
    pool = pl.DataFrame({"doc": docs, "key": _plain(docs)}).unique("key", keep="any")
    both = ours.join(pool, on="key").sort("gold")
    if not len(both):
        return ""
    gold, doc = both["gold"][0], both["doc"][0]
    return f"gold: {len(both)} gold documents are spelled otherwise in the pool, {doc!r} for {gold!r} of the qrels"


def _plain(ids: pl.Series) -> pl.Series:
    """Ids without case, folders, file endings, leading zeros and punctuation."""
    out = ids.str.to_lowercase().str.replace(r"^.*/", "").str.replace(r"\.[a-z]{2,5}$", "")
    return out.str.replace_all(r"(^|\D)0+(\d)", "${1}${2}").str.replace_all(BOUNDARY, "")


def holds_queries(urn: Urn, coded: Coded) -> NDArray[np.bool_]:
    """(Q,) whether a query's own id is among the documents; lists of a query's own do not hold it."""
    import polars as pl

    queries = pl.Series(coded.judgments.queries, dtype=pl.String)
    return queries.is_in(urn.docs.implode()).to_numpy() & urn.shared


def chunk_counts(urn: Urn) -> Sequence[int]:
    """Fewest and most ids of one document."""
    counts = urn.docs.value_counts()["count"]
    return int(counts.min() or 0), int(counts.max() or 0)  # type: ignore[arg-type]

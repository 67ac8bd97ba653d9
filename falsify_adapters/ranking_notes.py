"""What is found while a run is ranked: flags, and the messages of the errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.errors import InputError
from falsify_adapters.model import Flag, Judgments, Run
from falsify_adapters.units import suggest

if TYPE_CHECKING:
    import polars as pl

    from falsify_adapters.ranking import Table

SHOWN = 5  # ids named in a message


def some(ids: Sequence[str]) -> str:
    """A few ids for a message."""
    shown = ", ".join(repr(q) for q in ids[:SHOWN])
    return f"{shown} and {len(ids) - SHOWN} more" if len(ids) > SHOWN else shown


def about_order(table: Table, run: Run) -> list[Flag]:
    """Scores that tie beyond 32 bits, and ranks that say otherwise than the scores."""
    flags = []
    same = table.query[1:] == table.query[:-1]
    merged = same & (table.single[1:] == table.single[:-1]) & (table.score[1:] != table.score[:-1])
    if merged.any():
        flags.append(
            Flag(
                "scores_beyond_float32",
                f"{int(merged.sum())} neighbouring scores differ only beyond 32-bit precision and count as tied, "
                "as in trec_eval.",
            )
        )
    if run.rank is not None:
        written = run.rank[table.row]
        against = same & (table.single[1:] < table.single[:-1]) & (written[1:] < written[:-1])
        if against.any():
            queries = len(np.unique(table.query[1:][against]))
            flags.append(
                Flag(
                    "rank_contradicts_score",
                    f"The rank column contradicts the scores in {queries} of {len(np.unique(table.query))} queries "
                    f"({int(against.sum())} neighbouring pairs); scores decide, as in trec_eval. If the ranks are "
                    "right, the scores are reversed or belong to something else.",
                )
            )
    return flags


def two_scores(table: Table, run: Run, judgments: Judgments, places: tuple[int, int], n: int) -> InputError:
    """The error for the two rows at these places of the table, the first of `n` such documents."""
    rows = sorted(places, key=lambda place: int(table.row[place]))
    line_of = run.source.line_of
    lines = [line_of(int(table.row[place])) for place in rows] if line_of else []
    where = f"lines {lines[0]} and {lines[1]}: " if lines else ""
    query, doc = judgments.queries[table.query[rows[0]]], table.doc[rows[0]]
    return InputError(
        f"{where}document {doc!r} stands twice in the list of query {query!r}, with scores "
        f"{table.score[rows[0]]} and {table.score[rows[1]]}" + (f" ({n} such documents in all)" if n > 1 else ""),
        where=run.source.path,
        legal="a document once per query",
        mend="Use --duplicates best to keep the best-ranked one.",
    )


def about_self(table: Table, head: NDArray[np.int64], judgments: Judgments) -> list[Flag]:
    """Whether first documents are the queries themselves."""
    import polars as pl

    names = pl.Series(judgments.queries, dtype=pl.String).gather(table.query[head])
    n = int((names == table.doc.gather(head)).sum())
    if not n:
        return []
    return [
        Flag(
            "self_matches",
            f"In {n} of {judgments.n_queries} queries the first document has the id of the query itself. Where "
            "queries are documents of the collection (ArguAna, Quora), use --drop-self.",
        )
    ]


def nothing_in_common(run: Run, docs: pl.Series, path: str) -> InputError:
    """The error where no document of the run is judged, with the separator that would mend it where there is one."""
    mend = "Check that both speak of the same collection, and of documents alike (not chunks against documents)."
    found = suggest(run.doc, docs)
    if found is not None:
        mark, explained, distinct = found
        mend = (
            f"The run lists chunks and the qrels judge documents: --unit-sep {mark!r} would map {explained} of its "
            f"{distinct} ids to judged documents."
        )
    return InputError(
        f"no document of the run occurs in the qrels {path}: the run has {some(run.doc.head(3).to_list())}, "
        f"the qrels {some(docs.head(3).to_list())}",
        where=run.source.path,
        mend=mend,
    )

"""A collection written in chunks: its documents, how many chunks each has, and the pool that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from falsify_adapters import pool_files
from falsify_adapters.core.races import ChunkCounts
from falsify_adapters.errors import InputError
from falsify_adapters.model import Codes, Ints, Pool
from falsify_adapters.pool import Entrant
from falsify_adapters.ranking import Coded, codes_of
from falsify_adapters.ranking_notes import some
from falsify_adapters.units import Units

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """All documents that have a chunk. ids: of the chunks; docs: of the documents, distinct; count: (N,) chunks of
    each; path: where from."""

    path: str
    ids: pl.Series
    docs: pl.Series
    count: Ints

    @property
    def chunks(self) -> ChunkCounts:
        return ChunkCounts.of(self.count)

    def check(self, entrant: Entrant) -> None:
        """Raises InputError where a run ranks an id that is neither a chunk nor a document of the collection."""
        if entrant.ranked.chunks is None:
            return
        found = entrant.ranked.chunks[0].unique()
        strange = found.filter(~found.is_in(self.ids.implode()) & ~found.is_in(self.docs.implode())).sort()
        if len(strange):
            raise InputError(
                f"holds {len(self.ids)} chunks, and not {len(strange)} of the {len(found)} that {entrant.path} lists: "
                f"{some(strange.to_list())}",
                where=self.path,
                legal="the ids of all chunks that were searched",
                mend="Check that the file is that of this index.",
            )

    def weight(self, coded: Coded) -> Ints:
        """(J,) chunks of each judged document, 0 where the collection has none of it."""
        per_code = np.zeros(coded.judgments.n_docs + 1, np.int64)
        code: Codes = codes_of(self.docs, coded.docs)
        per_code[code] = self.count  # documents that nobody judged fall on the spare last place
        return per_code[:-1][coded.judgments.doc]

    def pools(self, entrants: Sequence[Entrant], *, drop_self: bool) -> list[Pool]:
        """The documents as the pool. Raises InputError where a list holds one that is not among them."""
        found = pool_files.ids(self.path, self.docs.to_list(), entrants, drop_self=drop_self)
        return [Pool(p.size, "chunks", p.per_query, p.inside) for p in found]


def read_collection(path: str, units: Units) -> Collection:
    """All chunk ids of a collection, one a line or JSON Lines, mapped to documents."""
    import polars as pl

    ids = pl.Series(
        pool_files.read_ids(path, option="--chunks", legal="a file of all chunk ids, one a line or JSON Lines"),
        dtype=pl.String,
    ).unique()
    table = units.documents(ids, path).value_counts(name="chunks").sort(by=pl.first())
    return Collection(path, ids, table.to_series(0), table["chunks"].to_numpy().astype(np.int64))

"""A collection written in chunks: its documents, how many chunks each has, and the pool that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from falsify_adapters import pool_files
from falsify_adapters.core.races import ChunkCounts
from falsify_adapters.model import Codes, Ints, Pool
from falsify_adapters.pool import Entrant
from falsify_adapters.ranking import Coded, codes_of
from falsify_adapters.units import Units

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """All documents that have a chunk. docs: their ids, distinct; count: (N,) chunks of each; path: where from."""

    path: str
    docs: pl.Series
    count: Ints

    @property
    def chunks(self) -> ChunkCounts:
        return ChunkCounts.of(self.count)

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

    ids = pl.Series(pool_files.read_ids(path), dtype=pl.String)
    table = units.documents(ids.unique(), path).value_counts(name="chunks").sort(by=pl.first())
    return Collection(path, table.to_series(0), table["chunks"].to_numpy().astype(np.int64))

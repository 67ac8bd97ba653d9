"""The frozen types that the steps hand to each other: files -> Qrels, Run -> Judgments, Lists -> Bench -> results.

Arrays are numpy, ids are text only in `Qrels` and `Run`; from `Judgments` on everything is whole-number codes, so
that neither a backend nor the core ever sees an id of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from falsify_adapters.measures import Measure

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Flag:
    """A finding beside the numbers: a stable code, a sentence for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where qrels or a run came from.

    path: as typed ("-" for standard input, "<dict>" and the like for objects in memory).
    sha256: hexadecimal digest of the bytes as stored (compressed where they are); None for objects in memory.
    line_of: row of the table -> line of the text (1-based); None where there is no text.
    """

    path: str
    sha256: str | None = None
    line_of: Callable[[int], int] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Qrels:
    """Judgments as read, duplicates settled, in the order of the source.

    queries: distinct query ids in order of first appearance; query: (J,) index into it; doc: (J,) document ids
    (polars String); grade: (J,) whole numbers, negative ones included.
    """

    queries: tuple[str, ...]
    query: Codes
    doc: pl.Series
    grade: Ints
    source: Source
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Retrieved documents as read, in the order of the source: nothing ranked, nothing dropped.

    queries: distinct query ids in order of first appearance; query: (L,) index into it; doc: (L,) document ids
    (polars String); score: (L,) finite doubles; rank: (L,) the source's own rank column, None where it has none;
    tag: the run's tag as its first line has it, None where the source has none.
    """

    name: str
    queries: tuple[str, ...]
    query: Codes
    doc: pl.Series
    score: Floats
    rank: Codes | None
    source: Source
    flags: tuple[Flag, ...] = ()
    tag: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Judgments:
    """Qrels in codes, one row per judgment, grouped by query (CSR).

    queries: the Q query ids, ascending by bytes; n_docs: D, the number of distinct judged documents, whose codes
    0..D-1 ascend with the bytes of their ids; start: (Q+1,) offsets; doc, grade: (J,), documents ascending within
    a query.
    """

    queries: tuple[str, ...]
    n_docs: int
    start: Ints
    doc: Codes
    grade: Codes

    @property
    def n_queries(self) -> int:
        return len(self.queries)

    @property
    def query(self) -> Codes:
        """(J,) the query of each judgment."""
        return np.repeat(np.arange(self.n_queries, dtype=np.int32), np.diff(self.start))


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """A run after ranking, seen through the qrels (CSR by the Q queries of `Judgments`, ranks ascending).

    Only documents that occur somewhere in the qrels have a row: no other can ever be gold, for any null.
    depth: (Q,) K_i, documents retrieved, 0 for a query the run does not answer; start: (Q+1,) offsets;
    rank: (H,) from 1; doc: (H,) codes of `Judgments`; tie_first, tie_last: (H,) ranks of the first and the last
    document with the same score; first_tie: (Q,) rank at which the first tie of the list begins, 0 without ties;
    all_tied: every list that has two or more documents is one single tie; averaged: whether values are averaged over
    every order of tied documents instead of taken from the ranks.
    """

    depth: Ints
    start: Ints
    rank: Codes
    doc: Codes
    tie_first: Codes
    tie_last: Codes
    first_tie: Codes
    all_tied: bool
    averaged: bool = False

    @property
    def query(self) -> Codes:
        """(H,) the query of each row."""
        return np.repeat(np.arange(len(self.depth), dtype=np.int32), np.diff(self.start))


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """How many documents a random ranking draws from, in the units that are scored.

    size: (Q,) N per query; source: "given", "observed", "run", "file", ...; per_query: the pool is a candidate
    list of each query's own; inside: (J,) whether each judged document lies in its query's pool, None where all do.
    """

    size: Ints
    source: str
    per_query: bool = False
    inside: NDArray[np.bool_] | None = None


class Backend(Protocol):
    """What an adapter is. It translates the measure, calls its library and returns one float per query.

    It never ranks, fills, averages, rounds or catches: it is handed our codes ("0", "1", ...) as ids, strictly
    decreasing whole numbers as scores, every query present on both sides, and one measure per call.
    """

    name: str

    def why_not(self, measure: Measure) -> str | None:
        """None where this backend computes the measure; else the reason and the cure, as one sentence."""

    def tolerance(self, measure: Measure) -> float:
        """How far its printed values may lie from exact ones: 1e-9, or more where the library rounds."""

    def score(
        self,
        measure: Measure,
        qrels: Mapping[str, Mapping[str, int]],
        run: Mapping[str, Mapping[str, float]],
    ) -> Sequence[float]:
        """One value per query, in the order of `qrels`."""

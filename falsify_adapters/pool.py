"""Where N comes from: how many documents a random ranking draws from, counted in the units that are scored."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.core.cross import own_hits
from falsify_adapters.errors import OptionError
from falsify_adapters.measures import Measure
from falsify_adapters.model import Ints, Pool
from falsify_adapters.ranking import Coded, Ranked, codes_of

if TYPE_CHECKING:
    import polars as pl

PoolSpec = int | str
Source = Callable[[str], int | Iterable[str] | Mapping[str, Iterable[str]]]  # offers.PoolSource
LARGEST = 10**15  # far beyond any collection, and counts stay exact as doubles
LEGAL = "a number, observed, run, candidates:FILE, ir_datasets:ID or a file of document ids"


@dataclass(frozen=True, slots=True, eq=False)
class Entrant:
    """A ranked run with the qrels that it is ranked against."""

    path: str
    coded: Coded
    ranked: Ranked


def resolve(
    spec: PoolSpec,
    entrants: Sequence[Entrant],
    *,
    drop_self: bool = False,
    sources: Mapping[str, Callable[[], Source]] | None = None,
) -> list[Pool]:
    """The pool of each run. Raises OptionError or InputError where it is smaller than what was seen.

    spec: a whole number, in any spelling of it (1e6, 1_000_000, "1,000,000"); "observed": the distinct documents of
    the qrels and of all runs; "run": each query's own list; "NAME:ARGUMENT": what the source of that name says
    (candidates:FILE, a candidate list per query); or a file of document ids, one a line. drop_self: documents that are
    their own query were dropped, and are in no pool of that query either. sources: pool sources by name, loaded when
    called.
    """
    if isinstance(spec, bool) or not isinstance(spec, (int, float, np.integer, str, PathLike)):
        raise OptionError(f"{repr(spec)[:80]} is no pool", where="--pool", legal=LEGAL)
    text = str(spec).strip()
    if re.fullmatch(r"[+-]?([0-9]+(_[0-9]+)*|[0-9]{1,3}(,[0-9]{3})+)", text):
        return _number(int(re.sub("[_,]", "", text)), entrants, drop_self)
    if (number := _as_float(text)) is not None:
        if number != int(number):
            raise OptionError(f"a pool of {text} documents", where="--pool", legal="a whole number, such as 191175")
        return _number(int(number), entrants, drop_self)
    if text == "observed":
        return _everywhere(len(_seen(entrants)), "observed", entrants, drop_self)
    if text == "run":
        return [_own_lists(e) for e in entrants]
    from falsify_adapters import pool_files

    label, answer = ask(text, sources)
    if isinstance(answer, int):
        return _number(answer, entrants, drop_self)
    if isinstance(answer, Mapping):
        return pool_files.candidates(label, answer, entrants, drop_self=drop_self)
    return pool_files.ids(label, answer, entrants, drop_self=drop_self)


def _as_float(text: str) -> float | None:
    """A number that is not written as a whole one (1e6, 2.5), NaN and infinity as 0.5: no whole number either."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else 0.5


def ask(
    text: str, sources: Mapping[str, Callable[[], Source]] | None = None
) -> tuple[str, int | Iterable[str] | Mapping[str, Iterable[str]]]:
    """What is asked, and what a source of that name or a file of ids answers; `text` as for `resolve`."""
    from falsify_adapters import pool_files

    known = {"candidates": lambda: pool_files.read_candidates} if sources is None else sources
    name, _, argument = text.partition(":")
    # A path may hold a colon too: only a known name in front of one is a source.
    label, load = (argument, known[name]) if argument and name in known else (text, lambda: pool_files.read_ids)
    return label, load()(label)


def _number(n: int, entrants: Sequence[Entrant], drop_self: bool) -> list[Pool]:
    if not 1 <= n <= LARGEST:
        raise OptionError(f"a pool of {n} documents", where="--pool", legal=f"a whole number from 1 to {LARGEST}")
    bound = sum(len(e.ranked.seen) for e in entrants) + entrants[0].coded.judgments.n_docs
    if bound > n:
        longest = max(entrants, key=lambda e: int(e.ranked.lists.depth.max(initial=0)))
        deepest = int(longest.ranked.lists.depth.max(initial=0))
        if deepest > n:
            raise too_small(n, f"a list of {longest.path} alone holds {deepest}")
        seen = len(_seen(entrants))
        if seen > n:
            raise too_small(n, f"qrels and runs name {seen} distinct documents")
    return _everywhere(n, "given", entrants, drop_self)


def too_small(n: int, seen: str) -> OptionError:
    """A pool that contradicts the files."""
    return OptionError(
        f"a pool of {n} documents is too small: {seen}",
        where="--pool",
        legal="at least the documents seen, counted in the units that are scored (documents, not chunks)",
        mend="Give the size of the whole collection, or --pool run where each list is its query's candidate pool.",
    )


def _seen(entrants: Sequence[Entrant]) -> pl.Series:
    import polars as pl

    docs = pl.concat([entrants[0].coded.docs, *(e.ranked.seen.unique() for e in entrants)])
    return docs.unique()


def _everywhere(n: int, source: str, entrants: Sequence[Entrant], drop_self: bool) -> list[Pool]:
    """One collection of n documents for all queries, less the query itself where it is dropped and known to be one."""
    known = _seen(entrants) if drop_self else None
    return [Pool(sizes(n, e, known), source, inside=without_self(e) if drop_self else None) for e in entrants]


def sizes(n: int, entrant: Entrant, known: pl.Series | None) -> Ints:
    """(Q,) n, less one for queries whose own id is among the `known` documents."""
    import polars as pl

    queries = entrant.coded.judgments.queries
    out = np.full(len(queries), n, np.int64)
    if known is not None:
        out -= pl.Series(queries, dtype=pl.String).is_in(known.implode()).to_numpy()
    return out


def without_self(entrant: Entrant) -> NDArray[np.bool_] | None:
    """(J,) whether each judged document is another than its query; None where all are."""
    import polars as pl

    judgments = entrant.coded.judgments
    own = codes_of(pl.Series(judgments.queries, dtype=pl.String), entrant.coded.docs)
    other = np.asarray(judgments.doc != own[judgments.query])
    return None if other.all() else other


def _own_lists(entrant: Entrant) -> Pool:
    judgments, lists = entrant.coded.judgments, entrant.ranked.lists
    hits, rows = own_hits(Measure("AP"), judgments, lists)
    key = judgments.query.astype(np.int64) * judgments.n_docs + judgments.doc
    inside = np.zeros(len(key), bool)
    inside[np.searchsorted(key, hits.pair * judgments.n_docs + lists.doc[rows])] = True
    return Pool(lists.depth, "run", per_query=True, inside=inside)

"""Pools that are written in files: the ids of a collection, or a candidate list per query."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from falsify_adapters.errors import InputError, MissingInputError
from falsify_adapters.model import Pool
from falsify_adapters.pool import Entrant, sizes, some, too_small
from falsify_adapters.ranking import codes_of

if TYPE_CHECKING:
    pass

ID_KEYS = ("_id", "id", "doc_id", "docid", "docno", "pid")


def ids(path: str, entrants: Sequence[Entrant], *, drop_self: bool) -> list[Pool]:
    """The documents of a file: one id a line, or JSON Lines with an id in each object (plain or .gz)."""
    import polars as pl

    docs = pl.Series(_ids(path), dtype=pl.String).unique()
    pools = []
    for e in entrants:
        outside = e.ranked.docs.unique()
        outside = outside.filter(~outside.is_in(docs.implode()))
        if len(outside):
            raise too_small(
                len(docs),
                f"{len(outside)} documents of {e.path} are not in {path} ({some(outside.sort().head(6).to_list())})",
            )
        judgments = e.coded.judgments
        known = codes_of(docs, e.coded.docs)
        member = np.zeros(judgments.n_docs + 1, bool)
        member[known] = True  # -1, not judged, falls on the spare place
        inside = member[:-1][judgments.doc]
        pools.append(
            Pool(sizes(len(docs), e, docs if drop_self else None), "file", inside=None if inside.all() else inside)
        )
    return pools


def candidates(path: str, entrants: Sequence[Entrant]) -> list[Pool]:
    """Candidate lists: query and document in the first two columns, or a TREC run."""
    rows: dict[str, set[str]] = {}
    for number, line in _lines(path):
        fields = line.split()
        if len(fields) not in (2, 6):
            raise InputError(
                f"{len(fields)} fields in {line[:80]!r}", where=path, line=number,
                legal="two fields (query, document), or the six of a TREC run",
            )  # fmt: skip
        rows.setdefault(fields[0], set()).add(fields[1] if len(fields) == 2 else fields[2])
    return [_candidates(path, rows, e) for e in entrants]


def _candidates(path: str, rows: dict[str, set[str]], e: Entrant) -> Pool:
    import polars as pl

    judgments, lists = e.coded.judgments, e.ranked.lists
    lacking = [q for q in judgments.queries if q not in rows]
    if lacking:
        raise InputError(f"{len(lacking)} judged queries have no candidates: {some(lacking)}", where=path)
    size = np.array([len(rows[q]) for q in judgments.queries], np.int64)
    over = np.flatnonzero(lists.depth > size)
    if len(over):
        q = judgments.queries[over[0]]
        raise too_small(int(size[over[0]]), f"{e.path} lists {int(lists.depth[over[0]])} documents for query {q!r}")
    inside = np.zeros(len(judgments.doc), bool)
    for i, q in enumerate(judgments.queries):
        part = slice(judgments.start[i], judgments.start[i + 1])
        codes = codes_of(pl.Series(sorted(rows[q]), dtype=pl.String), e.coded.docs)
        inside[part] = np.isin(judgments.doc[part], codes)
        shown = lists.doc[lists.start[i] : lists.start[i + 1]]
        foreign = shown[~np.isin(shown, codes)]
        if len(foreign):
            raise InputError(
                f"{e.path} lists {e.coded.docs[int(foreign[0])]!r} for query {q!r}, which is not among its candidates",
                where=path,
            )
    return Pool(size, "candidates", per_query=True, inside=inside)


def _ids(path: str) -> list[str]:
    found: list[str] = []
    for number, line in _lines(path):
        if not line.startswith("{"):
            found.append(line)
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InputError(f"not JSON: {error}", where=path, line=number) from None
        key = next((k for k in ID_KEYS if k in record), None)
        if key is None:
            raise InputError(
                f"no id in an object with the keys {sorted(record)}", where=path, line=number,
                legal=f"one of the keys {', '.join(ID_KEYS)}",
            )  # fmt: skip
        found.append(str(record[key]))
    if not found:
        raise InputError("no document ids", where=path, legal="one id a line, or JSON Lines")
    return found


def _lines(path: str) -> list[tuple[int, str]]:
    try:
        data = Path(path).read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except FileNotFoundError:
        raise MissingInputError(
            f"there is no such pool file: {path!r}", where="--pool",
            legal="a number, observed, run, candidates:FILE or a file of document ids",
        ) from None  # fmt: skip
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise InputError(f"cannot be read as text: {error}", where=path) from None
    lines = ((n, line.strip()) for n, line in enumerate(text.splitlines(), start=1))
    return [(n, line) for n, line in lines if line and not line.startswith("#")]

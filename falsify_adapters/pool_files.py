"""Pools that are written in files: the ids of a collection, or a candidate list per query."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from falsify_adapters.errors import InputError, NotInstalledError, OptionError
from falsify_adapters.model import Pool
from falsify_adapters.pool import LEGAL, Entrant, sizes, without_self
from falsify_adapters.ranking import codes_of
from falsify_adapters.ranking_notes import some
from falsify_adapters.textfile import lines

QUERY_KEYS = ("query_id", "query-id", "qid", "q_id", "query")
CANDIDATE_KEYS = ("candidates", "docs", "documents", "doc_ids", "top_ranked")
CANDIDATES = ", or name the file as --pool candidates:FILE where each query has a list of its own."
ID_KEYS = ("_id", "id", "doc_id", "docid", "docno", "pid")


def read_ids(path: str, *, option: str = "--pool", legal: str = LEGAL) -> list[str]:
    """The document ids of a file: one a line, or JSON Lines with an id in each object (plain or .gz).

    option, legal: what messages name. Raises MissingInputError or InputError.
    """
    found: list[str] = []
    for number, line in lines(path, option=option, legal=legal):
        if line.startswith("{"):
            record = _object(line, path, number)
            lists = any(key in record for key in CANDIDATE_KEYS) and not any(key in record for key in ID_KEYS)
            if lists and legal == LEGAL:
                raise InputError(
                    "a query with its candidates", where=path, line=number, legal="one document id a line",
                    mend="Name the file as --pool candidates:FILE: each query then has a pool of its own.",
                )  # fmt: skip
            found.append(_id_under(record, ID_KEYS, path, number))
            continue
        if " " in line or "\t" in line:
            raise InputError(
                f"several fields in {line[:80]!r}", where=path, line=number,
                legal="one document id a line, or JSON Lines",
                mend="Keep the column of ids only" + (CANDIDATES if legal == LEGAL else "."),
            )  # fmt: skip
        found.append(line)
    if not found:
        raise InputError("no document ids", where=path, legal="one document id a line, or JSON Lines")
    return found


def read_candidates(path: str) -> dict[str, set[str]]:
    """Candidate lists: query and document in two columns, a TREC run, or JSON Lines with a query and its candidates
    (plain or .gz).

    Raises MissingInputError or InputError.
    """
    rows: dict[str, set[str]] = {}
    for number, line in lines(path, option="--pool", legal=LEGAL):
        if line.startswith("{"):
            query, docs = _candidates_of_object(line, path, number)
            rows.setdefault(query, set()).update(docs)
            continue
        fields = re.split("[ \t]+", line)
        if len(fields) not in (2, 6):
            raise InputError(
                f"{len(fields)} fields in {line[:80]!r}", where=path, line=number,
                legal="two fields (query, document), the six of a TREC run, or JSON Lines",
            )  # fmt: skip
        rows.setdefault(fields[0], set()).add(fields[1] if len(fields) == 2 else fields[2])
    return rows


def ir_datasets_size(name: str) -> int:
    """How many documents the ir_datasets collection `name` has, by its own count, without a download.

    Raises NotInstalledError where the package is missing, OptionError where it does not know the collection or its
    size.
    """
    try:
        import ir_datasets
    except ImportError:
        raise NotInstalledError(
            "the package ir_datasets is not installed", where=f"--pool ir_datasets:{name}",
            mend="Install it (pip install ir-datasets), or give the number of documents.",
        ) from None  # fmt: skip
    try:
        count = ir_datasets.registry[name].docs_metadata().get("count")
    except KeyError:
        raise OptionError(
            f"ir_datasets has no collection {name!r}",
            where="--pool",
            legal="an id such as msmarco-passage or beir/scifact",
        ) from None
    except AttributeError:
        count = None
    if not count:
        raise OptionError(
            f"ir_datasets does not say how many documents {name!r} has", where="--pool", mend="Give the number itself."
        )
    return int(count)


def ids(path: str, found: Iterable[str], entrants: Sequence[Entrant], *, drop_self: bool) -> list[Pool]:
    """The documents found in `path` as the pool. Raises InputError where a list holds one that is not among them."""
    import polars as pl

    docs = pl.Series(list(found), dtype=pl.String).unique()
    pools = []
    for e in entrants:
        outside = e.ranked.docs.unique()
        outside = outside.filter(~outside.is_in(docs.implode()))
        if len(outside):
            raise InputError(
                f"holds {len(docs)} documents, and not {len(outside)} of those that {e.path} lists: "
                f"{some(outside.sort().to_list())}",
                where=path,
                legal="the ids of all documents that were searched, in the units that are scored",
                mend="Check that the file is that of this collection, and of documents where documents are scored "
                "(not chunks).",
            )
        judgments = e.coded.judgments
        known = codes_of(docs, e.coded.docs)
        member = np.zeros(judgments.n_docs + 1, bool)
        member[known] = True  # -1, not judged, falls on the spare place
        inside = member[:-1][judgments.doc]
        if drop_self and (other := without_self(e)) is not None:
            inside &= other
        pools.append(
            Pool(sizes(len(docs), e, docs if drop_self else None), "file", inside=None if inside.all() else inside)
        )
    return pools


def candidates(
    path: str, rows: Mapping[str, Iterable[str]], entrants: Sequence[Entrant], *, drop_self: bool
) -> list[Pool]:
    """A candidate list per query. Raises InputError where a list holds a document that is no candidate."""
    lists = {query: set(docs) - ({query} if drop_self else set()) for query, docs in rows.items()}
    return [_candidates(path, lists, e) for e in entrants]


def _candidates(path: str, rows: dict[str, set[str]], e: Entrant) -> Pool:
    import polars as pl

    judgments = e.coded.judgments
    lacking = [q for q in judgments.queries if q not in rows]
    if lacking:
        raise InputError(
            f"{len(lacking)} of {judgments.n_queries} judged queries have no candidates: {some(lacking)}",
            where=path,
            legal="candidates for every query that is scored",
            mend="Add them, or leave the queries out with --queries-file.",
        )
    for code, doc in zip(e.ranked.owner.tolist(), e.ranked.docs.to_list(), strict=True):
        if doc not in rows[judgments.queries[code]]:
            raise InputError(
                f"{e.path} lists {doc!r} for query {judgments.queries[code]!r}, which is not among its candidates",
                where=path,
                legal="for each query every document that the run lists",
                mend="Check that these are the candidates that the run ranked.",
            )
    inside = np.zeros(len(judgments.doc), bool)
    for i, q in enumerate(judgments.queries):
        part = slice(judgments.start[i], judgments.start[i + 1])
        codes = codes_of(pl.Series(sorted(rows[q]), dtype=pl.String), e.coded.docs)
        inside[part] = np.isin(judgments.doc[part], codes)
    size = np.array([len(rows[q]) for q in judgments.queries], np.int64)
    return Pool(size, "candidates", per_query=True, inside=inside)


def _candidates_of_object(line: str, path: str, number: int) -> tuple[str, list[str]]:
    record = _object(line, path, number)
    query = _id_under(record, QUERY_KEYS, path, number)
    key = next((k for k in CANDIDATE_KEYS if k in record), None)
    docs = None if key is None else record[key]
    if isinstance(docs, dict):  # a document and its score or text each
        docs = list(docs)
    if not isinstance(docs, list):
        legal = f"a list of document ids under one of the keys {', '.join(CANDIDATE_KEYS)}"
        raise InputError(f"no candidates of query {query!r}", where=path, line=number, legal=legal)
    return query, [_id(doc, str(key), path, number) for doc in docs]


def _object(line: str, path: str, number: int) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=path, line=number, legal="one object a line") from None
    return record


def _id_under(record: dict[str, Any], keys: Sequence[str], path: str, number: int) -> str:
    key = next((k for k in keys if k in record), None)
    if key is None:
        raise InputError(
            f"no id in an object with the keys {', '.join(sorted(record))}", where=path, line=number,
            legal=f"text or a whole number under one of the keys {', '.join(keys)}",
        )  # fmt: skip
    return _id(record[key], key, path, number)


def _id(value: Any, key: str, path: str, number: int) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise InputError(
            f"the id {value!r} under {key!r} is no id", where=path, line=number, legal="text or a whole number"
        )
    return str(value)

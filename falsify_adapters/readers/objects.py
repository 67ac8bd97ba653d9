"""Runs and qrels from objects in memory: dicts, frames, iterables of named rows, ranx's own. None is changed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from falsify_adapters.errors import InputError
from falsify_adapters.model import Codes, Flag, Qrels, Run, Source
from falsify_adapters.readers import checks
from falsify_adapters.readers.build import Keys, What, make_qrels, make_run
from falsify_adapters.readers.text import Coder

if TYPE_CHECKING:
    import polars as pl

_LEGAL = (
    "a path, an open file, {query: {document: value}}, a pandas or polars frame, an iterable of ir_measures.Qrel or "
    "ScoredDoc, a ranx.Qrels or ranx.Run"
)
# The columns of ir_measures, PyTerrier and ranx: query, document, then the value in qrels and in runs.
_COLUMNS = (
    ("query_id", "doc_id", ("relevance",), ("score",)),
    ("qid", "docno", ("label", "relevance"), ("score",)),
    ("q_id", "doc_id", ("score", "relevance"), ("score",)),
)
_LEGAL_COLUMNS = {
    "qrels": "query_id, doc_id, relevance (ir_measures); qid, docno, label (PyTerrier); q_id, doc_id, score (ranx)",
    "run": "query_id, doc_id, score (ir_measures); qid, docno, score (PyTerrier); q_id, doc_id, score (ranx)",
}


def read_object(source: object, what: What, name: str | None = None) -> Run | Qrels:
    """A run or qrels from any object in memory that is neither path nor file. Raises InputError."""
    if isinstance(source, (Run, Qrels)):
        if isinstance(source, Run) != (what == "run"):
            _refuse_kind(source, what, "a run" if isinstance(source, Run) else "qrels")
        return source
    if isinstance(source, Mapping):
        return read_dict(source, what, name)
    if type(source).__module__.partition(".")[0] == "ranx" and type(source).__name__ in ("Run", "Qrels"):
        return read_ranx(source, what, name)
    if _is_frame(source):
        return read_frame(source, what, name)
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes, bytearray, np.ndarray)):
        return read_rows(source, what, name)
    what_it_is = f"{what} cannot be read from a {type(source).__name__}"
    raise InputError(what_it_is, legal=_LEGAL)


def _is_frame(source: object) -> bool:
    """A pandas or polars frame; a library that was never imported has made no objects."""
    for library in ("pandas", "polars"):
        kinds = [getattr(sys.modules.get(library), kind, None) for kind in ("DataFrame", "LazyFrame")]
        if isinstance(source, tuple(kind for kind in kinds if isinstance(kind, type))):
            return True
    return False


def _refuse_kind(source: object, what: What, is_a: str) -> NoReturn:
    wanted = "a run is" if what == "run" else "qrels are"
    what_it_is = f"this {type(source).__name__} holds {is_a}, where {wanted} expected"
    raise InputError(what_it_is, legal=_LEGAL, mend="Qrels come first, runs after them: are the two swapped?")


def read_dict(source: Mapping[Any, Any], what: What, name: str | None = None) -> Run | Qrels:
    """{query: {document: grade or score}}."""
    return read_items(list(source.items()), what, name, Source(name or "<dict>"))


def read_items(items: Sequence[tuple[Any, Any]], what: What, name: str | None, source: Source) -> Run | Qrels:
    """Pairs of a query and its documents, these a mapping or again pairs (as JSON has them, repeats included)."""
    label = source.path
    for query, documents in items:
        if not isinstance(documents, (Mapping, Pairs)):
            value = f"{{{checks.shown(query)}: {checks.shown(documents)}}}"
            mend = "Give every document its grade or score."
            raise InputError(f"{value} holds no documents with values", where=label, legal=_LEGAL, mend=mend)
    queries, written = checks.ids([query for query, _ in items], "query", lambda _: (label, None))
    sizes = [len(documents) for _, documents in items]
    owner = np.repeat(np.arange(len(items)), sizes)

    def place(row: int) -> tuple[str, int | None]:
        return f"{label}, query {checks.shown(items[int(owner[row])][0])}", None

    docs = list(chain.from_iterable(d.keys() for _, d in items))
    values = list(chain.from_iterable(d.values() for _, d in items))
    if any(issubclass(kind, (dict, Pairs)) for kind in set(map(type, values))):
        mend = "It is nested one level too deep: give one run, {query: {document: score}}, or a list of runs."
        what_it_is = "nested one level too deep for {query: {document: value}}"
        raise InputError(what_it_is, where=label, legal=_LEGAL, mend=mend)
    flags = []
    if sizes and not all(sizes):
        empty = sizes.count(0)
        said = "1 query has" if empty == 1 else f"{empty} queries have"
        flags.append(Flag("queries_without_rows", f"{label}: {said} no documents and are left out."))
    coder = Coder()
    filled = queries.filter(np.array(sizes, dtype=np.int64) > 0) if sizes else queries
    codes = coder.encode(filled) if filled.len() else np.empty(0, dtype=np.int32)
    query = np.repeat(codes, [size for size in sizes if size])
    doc, written_docs = checks.ids(docs, "document", place)
    keys = Keys(tuple(coder.codes), query, doc, source, place)
    return _finish(what, name, keys, values, None, flags, written + written_docs)


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that repeated keys are seen instead of the last one winning."""

    def keys(self) -> Iterable[str]:
        """The keys in order, repeats included."""
        return (key for key, _ in self)

    def values(self) -> Iterable[Any]:
        """The values in order."""
        return (value for _, value in self)


def read_frame(frame: Any, what: What, name: str | None = None, source: Source | None = None) -> Run | Qrels:
    """A pandas or polars frame with the columns of ir_measures, PyTerrier or ranx; a run's `rank` is optional."""
    if hasattr(frame, "collect"):
        frame = frame.collect()
    library = type(frame).__module__.partition(".")[0]
    source = source or Source(name or f"<{library} {type(frame).__name__}>")
    label = source.path
    names = [str(column) for column in frame.columns]
    index = getattr(frame, "index", None)  # pandas has one, polars has not
    query_name, doc_name, value_name = _columns(names, what, label, [] if index is None else list(index.names))
    for column in {query_name, doc_name, value_name}:
        if names.count(column) > 1:
            raise InputError(f"there are several columns named {column!r}", where=label, legal=_LEGAL_COLUMNS[what])

    def place(row: int) -> tuple[str, int | None]:
        known = "" if index is None or index[row] == row else f" (index {checks.shown(index[row])})"
        return f"{label}, row {row}{known}", None

    queries, written = _id_column(frame[query_name], "query", place)
    doc, written_docs = _id_column(frame[doc_name], "document", place)
    coder = Coder()
    query = coder.encode(queries) if queries.len() else np.empty(0, dtype=np.int32)
    values = _value_column(frame[value_name])
    rank = _value_column(frame["rank"]) if what == "run" and names.count("rank") == 1 else None
    keys = Keys(tuple(coder.codes), query, doc, source, place)
    return _finish(what, name, keys, values, rank, [], written + written_docs)


def _columns(names: list[str], what: What, label: str, index: list[Any]) -> tuple[str, str, str]:
    """The columns for query, document and value; index: names of what pandas holds beside the columns."""
    found = _forms(names, what)
    if len(found) == 1:
        return found[0]
    other: What = "qrels" if what == "run" else "run"
    fault = "has the columns of several forms" if found else "lacks the columns of any known form"
    if found:
        mend = "Drop the columns of one form."
    elif _forms([*names, *map(str, index)], what):
        mend = "Its index holds ids: call reset_index() on it."
    elif _forms(names, other):
        mend = f"It has those of {'a run' if other == 'run' else 'qrels'}: are qrels and run swapped?"
    else:
        mend = "Rename the columns."
    what_it_is = f"the frame {fault}; it has {', '.join(names) or 'none'}"
    raise InputError(what_it_is, where=label, legal=_LEGAL_COLUMNS[what], mend=mend)


def _forms(names: list[str], what: What) -> list[tuple[str, str, str]]:
    found = []
    for query, doc, grade, score in _COLUMNS:
        value = next((v for v in (score if what == "run" else grade) if v in names), None)
        if query in names and doc in names and value is not None:
            found.append((query, doc, value))
    return found


def _id_column(column: Any, kind: str, place: checks.Place) -> tuple[pl.Series, int]:
    import polars as pl

    if isinstance(column, pl.Series):
        if column.dtype in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        if column.null_count() == 0 and (column.dtype == pl.String or column.dtype.is_integer()):
            texts = column.cast(pl.String)
            checks.check_ids(texts, kind, place)
            return texts, 0 if column.dtype == pl.String else column.len()
        return checks.ids(column.to_list(), kind, place)
    if column.dtype.kind in "iu" and not column.isna().any():
        wide = np.uint64 if column.dtype.kind == "u" else np.int64
        return pl.Series(kind, column.to_numpy(dtype=wide)).cast(pl.String), len(column)
    return checks.ids(column.tolist(), kind, place)


def _value_column(column: Any) -> Any:
    """A frame's column as a numpy array of numbers, or as a list where it is anything else."""
    import polars as pl

    if isinstance(column, pl.Series):
        return column.to_numpy() if column.dtype.is_numeric() and not column.null_count() else column.to_list()
    plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
    return column.to_numpy() if plain else column.tolist()


def read_rows(rows: Iterable[Any], what: What, name: str | None = None) -> Run | Qrels:
    """An iterable of objects with query_id, doc_id and relevance (qrels) or score (run): ir_measures' tuples, say."""
    label = name or f"<{type(rows).__name__}>"
    value_name = "score" if what == "run" else "relevance"
    queries, docs, values = list[Any](), list[Any](), list[Any]()
    for number, row in enumerate(rows):
        try:
            queries.append(row.query_id)
            docs.append(row.doc_id)
            values.append(getattr(row, value_name))
        except AttributeError:
            other = "relevance" if what == "run" else "score"
            swapped = hasattr(row, other)
            mend = "Are qrels and run swapped?" if swapped else "Use ir_measures.Qrel and ir_measures.ScoredDoc."
            raise InputError(
                f"item {number}, {checks.shown(row)}, lacks query_id, doc_id or {value_name}",
                where=label,
                legal=f"objects with the attributes query_id, doc_id and {value_name}",
                mend=mend,
            ) from None

    def place(row: int) -> tuple[str, int | None]:
        return f"{label}, item {row}", None

    if not queries:
        _refuse_empty(label, what)
    texts, written = checks.ids(queries, "query", place)
    doc, written_docs = checks.ids(docs, "document", place)
    coder = Coder()
    query = coder.encode(texts)
    keys = Keys(tuple(coder.codes), query, doc, Source(label), place)
    return _finish(what, name, keys, values, None, [], written + written_docs)


def read_ranx(source: Any, what: What, name: str | None = None) -> Run | Qrels:
    """A ranx.Run or ranx.Qrels, through its own dicts; ranx is not imported here."""
    kind = type(source).__name__
    if (kind == "Run") != (what == "run"):
        _refuse_kind(source, what, "a run" if kind == "Run" else "qrels")
    own_name = getattr(source, "name", None)
    items = [(str(query), dict(documents)) for query, documents in getattr(source, kind.lower()).items()]
    return read_items(items, what, name or own_name, Source(name or f"<ranx.{kind}>"))


def _refuse_empty(label: str, what: What) -> NoReturn:
    mend = "A generator can be read only once: pass a list." if "generator" in label else "Check where it was filled."
    raise InputError(
        f"holds no rows: the {what} is empty" if what == "run" else "holds no rows", where=label, mend=mend
    )


def _finish(
    what: What, name: str | None, keys: Keys, values: Any, rank: Any, flags: list[Flag], written: int
) -> Run | Qrels:
    label = keys.source.path
    if not len(keys.query):
        _refuse_empty(label, what)
    if written:
        flags = [*flags, Flag("ids_written_as_text", f"{label}: ids given as whole numbers are compared as text.")]
    if what == "qrels":
        return make_qrels(keys, checks.grades(values, keys.place), flags)
    return make_run(keys, name or "run", checks.scores(values, keys.place), _ranks(rank), flags)


def _ranks(rank: Any) -> Codes | None:
    """A frame's ranks where all are whole numbers that fit, else None, as for files."""
    column = None if rank is None else np.asarray(rank)
    if column is None or column.dtype.kind not in "iuf" or not np.isfinite(column).all():
        return None
    if (column != np.floor(column)).any() or (np.abs(column.astype(np.float64)) >= 2**31).any():
        return None
    return column.astype(np.int32)

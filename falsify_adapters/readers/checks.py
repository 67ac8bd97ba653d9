"""The rules for ids, scores, grades and repeated judgments: one owner for each, used by every source.

A rule is handed whole columns and a `place`, which turns a row into what an error message should name: a file and
a line, or an object, a query and a document.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from falsify_adapters.errors import InputError
from falsify_adapters.model import Codes, Floats, Ints

if TYPE_CHECKING:
    import polars as pl

Place = Callable[[int], tuple[str, int | None]]

LARGEST_GRADE = 1000
# What C's isspace() cuts at, and NUL, where C strings end. Other Unicode blanks are part of an id, as in trec_eval.
_FORBIDDEN = "[\x00\t\n\x0b\x0c\r ]"
_LEGAL_ID = "a non-empty text without blanks, NUL or lone surrogates, or a whole number"
_LEGAL_SCORE = "a finite decimal number such as 12.5 or -3e-4"
_LEGAL_GRADE = f"whole numbers from -{LARGEST_GRADE} to {LARGEST_GRADE}"


def shown(value: object, longest: int = 80) -> str:
    """`repr` of a value, cut where it is too long for a message."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}..."


def _is_missing(value: object) -> bool:
    if isinstance(value, (numbers.Real, Decimal)):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _refuse(what: str, place: Place, row: int, legal: str, mend: str) -> NoReturn:
    where, line = place(row)
    raise InputError(what, where=where, line=line, legal=legal, mend=mend)


def ids(values: Sequence[object], kind: str, place: Place) -> tuple[pl.Series, int]:
    """Ids as a polars String column, and how many of them were whole numbers, written as text.

    kind: "query" or "document". Raises InputError for anything but text and whole numbers.
    """
    import polars as pl

    written = 0
    texts = values
    if set(map(type, values)) != {str}:
        texts = [_id_text(v, kind, place, row) for row, v in enumerate(values)]
        written = sum(not isinstance(v, str) for v in values)
    try:
        column = pl.Series(kind, texts, dtype=pl.String)
    except UnicodeEncodeError:
        row = next(r for r, t in enumerate(texts) if not _encodable(str(t)))
        mend = "A lone surrogate comes from a file read with errors='surrogateescape': read it with its own encoding."
        _refuse(f"the {kind} id {shown(texts[row])} holds a lone surrogate", place, row, _LEGAL_ID, mend)
    check_ids(column, kind, place)
    return column, written


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _id_text(value: object, kind: str, place: Place, row: int) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if _is_missing(value):
        _refuse(f"a {kind} id is missing ({value!r})", place, row, _LEGAL_ID, "Drop the row or fill in the id.")
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)):
        mend = "pandas makes whole numbers into floats where one is missing: read the ids as text (dtype=str)."
        _refuse(f"the {kind} id {shown(value)} is a float", place, row, _LEGAL_ID, mend)
    mend = "Decode it first." if isinstance(value, (bytes, bytearray)) else "Convert the ids with str()."
    _refuse(f"the {kind} id {shown(value)} is a {type(value).__name__}", place, row, _LEGAL_ID, mend)


def check_ids(column: pl.Series, kind: str, place: Place) -> None:
    """Refuse empty ids and ids that a C library would cut or split. column: polars String without nulls."""
    bad = (column.str.contains(_FORBIDDEN) | (column == "")).arg_true()
    if bad.len() == 0:
        return
    row = int(bad[0])
    text = column[row]
    if not text:
        _refuse(f"an empty {kind} id", place, row, _LEGAL_ID, "Drop the row or fill in the id.")
    fault = "a NUL character" if "\x00" in text else "a blank"
    mend = "Replace the blanks in runs and qrels alike, with an underscore, say." if fault == "a blank" else ""
    _refuse(f"the {kind} id {shown(text)} holds {fault}", place, row, _LEGAL_ID, mend)


def scores(values: Sequence[object] | np.ndarray[tuple[int], np.dtype[np.generic]], place: Place) -> Floats:
    """Scores as finite doubles. Raises InputError for text, missing values, NaN and infinities."""
    column = _array(values)
    if column.dtype.kind not in "biuf":
        column = np.array([_score(v, place, row) for row, v in enumerate(column.tolist())], dtype=np.float64)
    doubles = column.astype(np.float64)
    check_scores(doubles, place)
    return doubles


def _array(
    values: Sequence[object] | np.ndarray[tuple[int], np.dtype[np.generic]],
) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    if isinstance(values, np.ndarray):
        return values
    kinds = set(map(type, values))
    # numpy would make one text column of [1, "2"], and would stop at ragged lists.
    plain = all(issubclass(k, (bool, int, float, np.bool_, np.integer, np.floating)) for k in kinds)
    if plain:
        column = np.array(values)
        if column.dtype.kind in "biuf":
            return column
    boxed = np.empty(len(values), dtype=object)
    boxed[:] = values
    return boxed


def _score(value: object, place: Place, row: int) -> float:
    if not isinstance(value, (numbers.Real, Decimal)):
        refuse_score(value, place, row)
    try:
        return float(value)
    except OverflowError:
        refuse_score(float("inf"), place, row)


def check_scores(column: Floats, place: Place) -> None:
    """Refuse NaN and infinities, naming the first."""
    bad = ~np.isfinite(column)
    if bad.any():
        row = int(np.argmax(bad))
        refuse_score(float(column[row]), place, row)


def refuse_score(value: object, place: Place, row: int) -> NoReturn:
    """Stop at a score that is no finite number. value: the text of the file, or the object."""
    if isinstance(value, str):
        what, mend = f"the score {shown(value)} is not a number", "Check that the columns are in the right order."
        try:
            number = float(value)
        except ValueError:
            pass
        else:
            if not np.isfinite(number):
                refuse_score(number, place, row)
    elif _is_missing(value):
        what, mend = "the score is not a number (NaN or missing)", "Drop the document or mend the system's scores."
    elif isinstance(value, numbers.Real):
        what = "the score is infinite, or beyond the range of a double"
        mend = "Give the document a finite score above or below all others."
    else:
        what, mend = f"the score {shown(value)} is a {type(value).__name__}, not a number", "Convert it with float()."
    _refuse(what, place, row, _LEGAL_SCORE, mend)


def grades(values: Sequence[object] | np.ndarray[tuple[int], np.dtype[np.generic]], place: Place) -> Ints:
    """Grades as whole numbers within the legal range; 1.0 is accepted, 1.5 is an error, nothing is cut off."""
    column = _array(values)
    if column.dtype.kind == "f":
        bad = ~(np.isfinite(column) & (column == np.floor(column)))
        if bad.any():
            row = int(np.argmax(bad))
            refuse_grade(column[row].item(), place, row)
        column = np.clip(column, -2.0 * LARGEST_GRADE, 2.0 * LARGEST_GRADE)  # keeps the cast below in range
    elif column.dtype.kind == "u":
        column = np.minimum(column, np.uint64(2 * LARGEST_GRADE))
    elif column.dtype.kind not in "bi":
        column = np.array([_grade(v, place, row) for row, v in enumerate(column.tolist())], dtype=np.int64)
    whole = column.astype(np.int64)
    check_grades(whole, place, lambda row: values[row])
    return whole


def _grade(value: object, place: Place, row: int) -> int:
    if not isinstance(value, (numbers.Real, Decimal)) or value != value:
        refuse_grade(value, place, row)
    # Cut before the cast: a grade beyond any machine word is still only too large.
    number = float(max(-2 * LARGEST_GRADE, min(2 * LARGEST_GRADE, value)))
    if not number.is_integer():
        refuse_grade(value, place, row)
    return int(number)


def grade_text(text: str, place: Place, row: int) -> int:
    """A grade from a file that is not written as plain digits: "1.0" is 1, "1.5" is an error."""
    try:
        number = float(text) if text.isascii() and "_" not in text else float("nan")
    except ValueError:
        refuse_grade(text, place, row)
    if not np.isfinite(number) or number != np.floor(number):
        refuse_grade(text, place, row)
    return int(max(-2.0 * LARGEST_GRADE, min(2.0 * LARGEST_GRADE, number)))


def check_grades(column: Ints, place: Place, given: Callable[[int], object] | None = None) -> None:
    """Refuse grades beyond +-1000, naming the first. given: the grade as it stood in the source."""
    bad = np.abs(column) > LARGEST_GRADE
    if bad.any():
        row = int(np.argmax(bad))
        value = int(column[row]) if given is None else given(row)
        mend = "Counts such as clicks become grades by binning, for instance floor(log2(count))."
        what = (
            f"the grade {shown(value)} is too large: trec_eval would hang, its cost grows with the square of the grade"
        )
        _refuse(what, place, row, _LEGAL_GRADE, mend)


def refuse_grade(value: object, place: Place, row: int) -> NoReturn:
    """Stop at a grade that is no whole number. value: the text of the file, or the object."""
    mend = "Grades are never rounded: scale them to whole numbers, or choose a threshold."
    if _is_missing(value):
        _refuse("the grade is missing or NaN", place, row, _LEGAL_GRADE, "Drop the row: an unjudged document has none.")
    if isinstance(value, str):
        mend += " Check that the columns are in the right order."
    _refuse(f"the grade {shown(value)} is not a whole number", place, row, _LEGAL_GRADE, mend)


def first_judgments(query: Codes, doc: pl.Series, grade: Ints, place: Place, queries: Sequence[str]) -> Ints | None:
    """Rows to keep when identical repeats are dropped (the first of each), or None where nothing repeats.

    Two judgments of one document with different grades are an InputError that names both.
    """
    import polars as pl

    table = pl.DataFrame({"query": query, "doc": doc, "grade": grade})
    pair = ["query", "doc"]
    if table.n_unique(pair) == table.height:
        return None
    table = table.with_row_index("row")
    first = table.unique(pair, keep="first", maintain_order=True)
    if first.height != table.unique([*pair, "grade"]).height:
        both = table.join(first.select(*pair, first="row", before="grade"), on=pair, how="inner")
        clash = both.filter(pl.col("grade") != pl.col("before")).sort("row").select("first", "row", "before", "grade")
        earlier, row, before, grade_now = clash.row(0)
        pair_shown = f"query {shown(queries[query[row]])}, document {shown(doc[row])}"
        _refuse_clash(pair_shown, earlier, row, f"{before} and {grade_now}", place)
    return first["row"].to_numpy().astype(np.int64)


def _refuse_clash(pair: str, earlier: int, row: int, both: str, place: Place) -> NoReturn:
    where, line = place(row)
    lines = f" (lines {place(earlier)[1]} and {line})" if line is not None else ""
    mend = "Keep one of the two. Diversity qrels (a subtopic in the second column) need one grade per document first."
    what = f"{pair} is judged twice with different grades, {both}{lines}"
    raise InputError(what, where=where, line=line, legal="one grade for each query and document", mend=mend)

"""Lines of fields -> columns, in blocks of some megabytes: a fast path for regular blocks, a general one for the rest.

A block is regular when every line has exactly the layout's number of fields, cut by one and the same single blank,
and none is a comment. That is checked on the bytes themselves, so the CSV parser never sees anything that it could
read differently from the general path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.errors import InputError
from falsify_adapters.model import Codes, Floats, Ints
from falsify_adapters.readers import checks
from falsify_adapters.readers.streams import LONGEST_LINE, Stream

if TYPE_CHECKING:
    import polars as pl

_BLANK, _TAB, _NEWLINE, _HASH = 32, 9, 10, 35
_BOM = b"\xef\xbb\xbf"
_SLICE = 1 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """Which fields of a line hold what.

    width: fields that a line must have; exact: more are an error (else they are counted and left); query, doc, value,
    rank: positions, None for what a line has not; kind: what value is; header: the first data line names the columns;
    legal, hint: a line in words and the cure, for messages.
    """

    width: int
    query: int
    doc: int
    kind: Literal["score", "grade", "rank"]
    legal: str
    hint: str
    value: int | None = None
    rank: int | None = None
    exact: bool = False
    header: bool = False


@dataclass(frozen=True, slots=True)
class LineMap:
    """Row of the table -> 1-based line of the text, from the few lines that hold no data. skipped: ascending.

    kept: rows of the text that stayed in the table, where some were dropped.
    """

    skipped: Ints
    kept: Ints | None = None

    def __call__(self, row: int) -> int:
        if self.kept is not None:
            row = int(self.kept[row])
        before = self.skipped - np.arange(len(self.skipped))
        return row + 1 + int(np.searchsorted(before, row + 1, side="right"))


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The columns of a text. score, whole: (L,) the value, by the layout's kind in the one or the other, else None."""

    queries: tuple[str, ...]
    query: Codes
    doc: pl.Series
    score: Floats | None
    whole: Ints | None
    rank: Codes | None
    lines: LineMap
    left_over: int


@dataclass(slots=True)
class Coder:
    """Query ids -> codes in order of first appearance. Fast where the lines of a query stand together."""

    codes: dict[str, int] = field(default_factory=dict)

    def encode(self, column: pl.Series) -> Codes:
        """(n,) codes of a String column without nulls, new ids numbered on."""
        import polars as pl

        starts = (column != column.shift(1)).fill_null(True).arg_true()
        heads = column.gather(starts)
        distinct = heads.unique(maintain_order=True)
        numbers = [self.codes.setdefault(text, len(self.codes)) for text in distinct]
        if distinct.len() < heads.len():
            numbers = heads.replace_strict(distinct, numbers, return_dtype=pl.Int32).to_list()
        lengths = np.diff(np.append(starts.to_numpy(), column.len()))
        return np.repeat(np.array(numbers, dtype=np.int32), lengths)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """One block in columns. lines: how many it has; skipped: those without data, 1-based in the whole text."""

    frame: pl.DataFrame
    lines: int
    skipped: Ints
    left_over: int = 0


def read_table(stream: Stream, layout: Layout) -> Table:
    """All lines of a stream. Raises InputError naming the file, the line and what a line must look like."""
    import polars as pl

    coder, frames, query = Coder(), list[pl.DataFrame](), list[Codes]()
    skipped, first_line, left_over = list[Ints](), 1, 0
    for block, regular_lines in _looked_over(stream, layout):
        _check_bytes(block, stream.label, first_line)
        part = _fast(block, layout, regular_lines) if regular_lines else None
        if part is None:
            part = _general(block, layout, stream.label, first_line)
        first_line += part.lines
        left_over += part.left_over
        skipped.append(part.skipped)
        query.append(coder.encode(part.frame["query"]))
        frames.append(part.frame.drop("query"))
    if not sum(frame.height for frame in frames):
        mend = "Was it written to the end? Blank lines and lines that start with # do not count."
        raise InputError("holds no data lines", where=stream.label, legal=layout.legal, mend=mend)
    rank = None
    if layout.rank is not None and not any(f["rank"].null_count() for f in frames):
        rank = np.concatenate([f["rank"].to_numpy() for f in frames])
    value = None if layout.value is None else np.concatenate([f["value"].to_numpy() for f in frames])
    return Table(
        queries=tuple(coder.codes),
        query=np.concatenate(query),
        doc=pl.concat([f["doc"] for f in frames], rechunk=True),
        score=value if layout.kind == "score" else None,
        whole=value if layout.kind != "score" else None,
        rank=rank,
        lines=LineMap(np.concatenate(skipped)),
        left_over=left_over,
    )


def _looked_over(stream: Stream, layout: Layout) -> Iterator[tuple[bytes, int]]:
    """Each block with its number of lines if it is regular, else 0, found out one block ahead in a thread."""
    waiting: tuple[bytes, Future[int]] | None = None
    with ThreadPoolExecutor(1, thread_name_prefix="regular") as pool:
        for number, raw in enumerate(stream.blocks()):
            block = raw.removeprefix(_BOM) if number == 0 else raw
            if b"\r" in block:
                block = block.replace(b"\r\n", b"\n")
            width = 0 if layout.header and number == 0 else layout.width
            ready, waiting = waiting, (block, pool.submit(_regular_lines, block, width))
            if ready is not None:
                yield ready[0], ready[1].result()
        if waiting is not None:
            yield waiting[0], waiting[1].result()


def _regular_lines(block: bytes, width: int) -> int:
    """The number of lines of a regular block; 0 where it is not regular (width 0: never).

    Goes by slices of whole lines that stay in the processor's cache.
    """
    separator = next((c for c in block if c <= _BLANK), 0)
    if not width or separator not in (_BLANK, _TAB):
        return 0
    marks = np.array([separator] * (width - 1) + [_NEWLINE], dtype=np.uint8)
    lines, start = 0, 0
    while start < len(block):
        end = block.rfind(b"\n", start, start + _SLICE) + 1 or len(block)
        regular = _regular_slice(np.frombuffer(block, np.uint8, end - start, start), marks)
        if not regular:
            return 0
        lines, start = lines + regular, end
    return lines


def _regular_slice(data: NDArray[np.uint8], marks: NDArray[np.uint8]) -> int:
    """`_regular_lines` of whole lines. marks: the separators of one line and its newline."""
    cuts = np.flatnonzero(data <= _BLANK)
    width = len(marks)
    if not len(cuts) or len(cuts) % width or cuts[0] == 0 or (np.diff(cuts) == 1).any():
        return 0
    starts = cuts[width - 1 : -1 : width] + 1
    if data[0] == _HASH or (data[starts] == _HASH).any():
        return 0
    found = data[cuts].reshape(-1, width)
    return len(found) if (found == marks).all() else 0


def _check_bytes(block: bytes, label: str, first_line: int) -> None:
    """Refuse NUL bytes, bytes that are not UTF-8, and endless lines."""
    legal = "UTF-8 text"
    nul = block.find(b"\x00")
    if nul >= 0:
        utf16 = first_line == 1 and block[:2] in (b"\xff\xfe", b"\xfe\xff")
        what = "UTF-16 text" if utf16 else "a NUL byte: this is a binary file"
        mend = "Convert it with iconv -f UTF-16 -t UTF-8." if utf16 else "Name the run or qrels file itself."
        line = first_line + block.count(b"\n", 0, nul)
        raise InputError(what, where=label, line=line, legal=legal, mend=mend)
    end = block.find(b"\n")
    if end < 0 or end > LONGEST_LINE:
        raise InputError(f"a line longer than {LONGEST_LINE >> 20} MiB", where=label, line=first_line, legal=legal)
    if block.isascii():
        return
    try:
        block.decode()
    except UnicodeDecodeError as error:
        line = first_line + block.count(b"\n", 0, error.start)
        what = f"byte 0x{block[error.start]:02x} is not UTF-8"
        mend = "Convert the file with iconv (from Latin-1, perhaps), and the other files with it: ids must match."
        raise InputError(what, where=label, line=line, legal=legal, mend=mend) from None


def _types(layout: Layout) -> dict[str, type[pl.DataType]]:
    import polars as pl

    types: dict[str, type[pl.DataType]] = {f"{i}": pl.String for i in range(layout.width)}
    if layout.rank is not None:
        types[f"{layout.rank}"] = pl.Int32
    if layout.value is not None:
        types[f"{layout.value}"] = pl.Float64 if layout.kind == "score" else pl.Int64
    return types


def _columns(layout: Layout) -> dict[str, int]:
    named = {"query": layout.query, "doc": layout.doc, "value": layout.value, "rank": layout.rank}
    return {name: at for name, at in named.items() if at is not None}


def _fast(block: bytes, layout: Layout, lines: int) -> _Part | None:
    """A regular block through the CSV parser; None where a value is not written in plain digits."""
    import polars as pl

    columns = _columns(layout)
    separator = next((chr(c) for c in block if c in (_BLANK, _TAB)), " ")
    frame = pl.read_csv(
        block,
        separator=separator,
        has_header=False,
        quote_char=None,
        schema=_types(layout),
        columns=sorted(columns.values()),
        ignore_errors=True,
    )
    frame = frame.select(pl.col(f"{at}").alias(name) for name, at in columns.items())
    if frame.height != lines or (layout.value is not None and frame["value"].null_count()):
        return None
    if layout.exact and layout.rank is not None and frame["rank"].null_count():
        return None
    return _Part(frame, lines, np.empty(0, dtype=np.int64))


def _general(block: bytes, layout: Layout, label: str, first_line: int) -> _Part:
    """Any block: comments and blank lines skipped, fields cut at runs of blanks and tabs, extra fields counted."""
    import polars as pl

    text = pl.Series("line", [block[:-1]], dtype=pl.Binary).cast(pl.String).str.split("\n").explode()
    stripped = text.str.strip_chars(" \t\r")
    data = (stripped != "") & ~stripped.str.starts_with("#")
    if layout.header and first_line == 1:
        data[int(data.arg_true()[0])] = False
    number = data.arg_true().to_numpy().astype(np.int64) + first_line
    skipped = (~data).arg_true().to_numpy().astype(np.int64) + first_line
    lines = stripped.filter(data)
    fields = lines.str.replace_all("[ \t]+", "\t").str.splitn("\t", layout.width + 1).struct.unnest()
    names = [f"{i}" for i in range(layout.width)]
    fields.columns = [*names, "more"]

    def place(row: int) -> tuple[str, int | None]:
        return label, int(number[row])

    short = fields[names[-1]].is_null()
    wrong = (short | fields["more"].is_not_null()) if layout.exact else short
    if wrong.any():
        row = int(wrong.arg_true()[0])
        _refuse_width(lines[row], layout, label, int(number[row]))
    columns = _columns(layout)
    raw = fields.select(pl.col(f"{at}").alias(name) for name, at in columns.items())
    types = _types(layout)
    frame = raw.with_columns(pl.col(n).cast(types[f"{at}"], strict=False) for n, at in columns.items())
    if layout.value is not None:
        frame = frame.with_columns(_mended(frame["value"], raw["value"], layout, place))
    if layout.exact and layout.rank is not None and frame["rank"].null_count():
        row = int(frame["rank"].is_null().arg_true()[0])
        _refuse_rank(raw["rank"][row], layout, place, row)
    for name, kind in (("query", "query"), ("doc", "document")):
        checks.check_ids(frame[name], kind, place)
    return _Part(frame, text.len(), skipped, fields["more"].count())


def _mended(value: pl.Series, raw: pl.Series, layout: Layout, place: checks.Place) -> pl.Series:
    """Values that the plain cast could not read: grades such as 1.0 are mended, all others are errors."""
    for row in value.is_null().arg_true():
        if layout.kind == "grade":
            value[row] = checks.grade_text(raw[row], place, row)
        elif layout.kind == "score":
            checks.refuse_score(raw[row], place, row)
        else:
            _refuse_rank(raw[row], layout, place, row)
    return value


def _refuse_rank(text: str, layout: Layout, place: checks.Place, row: int) -> NoReturn:
    where, line = place(row)
    what = f"the rank {checks.shown(text)} is not a whole number"
    raise InputError(what, where=where, line=line, legal=layout.legal, mend=layout.hint)


def _refuse_width(line: str, layout: Layout, label: str, number: int) -> NoReturn:
    count = len(re.split("[ \t]+", line))
    fields = "1 field" if count == 1 else f"{count} fields"
    what = f"{fields} where {layout.width} are needed: {checks.shown(line)}"
    raise InputError(what, where=label, line=number, legal=layout.legal, mend=layout.hint)

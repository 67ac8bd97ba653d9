"""Runs and qrels as lines of text: TREC's form, MS MARCO's shorter ones, BEIR's qrels with a header."""

from __future__ import annotations

import re
from collections import Counter
from typing import NoReturn

import numpy as np

from falsify_adapters.errors import InputError
from falsify_adapters.model import Flag, Qrels, Run, Source
from falsify_adapters.readers.build import Keys, What, make_qrels, make_run, run_name
from falsify_adapters.readers.streams import Stream
from falsify_adapters.readers.text import Layout, Table, read_table

_RUN = "query Q0 document rank score tag, separated by blanks or tabs"
_QRELS = "query iteration document grade, separated by blanks or tabs"
_RUN_FORMS = f"{_RUN}; MS MARCO's query document rank or query document rank score"
_QRELS_FORMS = f"{_QRELS}; BEIR's query document grade under the header query-id corpus-id score; query document"
_RUN_HINT = "Blanks inside an id make extra fields, missing values too few: write the six columns."
_QRELS_HINT = "Blanks inside an id make extra fields, missing values too few: write the four columns."
_RANK_HINT = "Three columns hold ranks, not scores: for scores write the six columns, and remove a header line."
_FOUR_HINT = "If these are qrels, the two files are swapped; otherwise write the six columns of a run."

_TREC_RUN = Layout(width=6, query=0, doc=2, rank=3, value=4, kind="score", legal=_RUN_FORMS, hint=_RUN_HINT)
_TREC_QRELS = Layout(width=4, query=0, doc=2, value=3, kind="grade", legal=_QRELS_FORMS, hint=_QRELS_HINT)
_RANKS = Layout(width=3, query=0, doc=1, value=2, kind="rank", exact=True, legal="query document rank", hint=_RANK_HINT)
_RANKS_SCORES = Layout(
    width=4,
    query=0,
    doc=1,
    rank=2,
    value=3,
    kind="score",
    exact=True,
    legal="query document rank score",
    hint=_FOUR_HINT,
)
_PAIRS = Layout(width=2, query=0, doc=1, kind="grade", exact=True, legal="query document", hint=_QRELS_HINT)
_BEIR = Layout(
    width=3,
    query=0,
    doc=1,
    value=2,
    kind="grade",
    exact=True,
    header=True,
    legal="query-id corpus-id score",
    hint=_QRELS_HINT,
)

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LINES_LOOKED_AT = 100


def sniff(stream: Stream, what: What) -> str:
    """Which of "trec", "beir", "msmarco" the first lines are written in; "trec", with its errors, where in doubt."""
    lines = _first_lines(stream)
    if not lines:
        return "trec"
    if what == "qrels" and _is_beir_header(lines[0]):
        return "beir"
    return "msmarco" if _usual_width(lines) in ((3, 4) if what == "run" else (2,)) else "trec"


def read_trec(stream: Stream, what: What, name: str | None = None) -> Run | Qrels:
    """TREC runs (query Q0 document rank score tag) and qrels (query iteration document grade)."""
    if what == "run":
        return _run(stream, read_table(stream, _TREC_RUN), name, [])
    lines = _first_lines(stream)
    if lines and all(_is_run_line(line) for line in lines):
        _refuse_swapped(stream, "a run, where qrels are expected", _QRELS)
    return _qrels(stream, read_table(stream, _TREC_QRELS), [])


def read_beir(stream: Stream, what: What, name: str | None = None) -> Run | Qrels:
    """BEIR's qrels: a header line query-id, corpus-id, score, then three columns."""
    if what == "run":
        return read_trec(stream, what, name)
    lines = _first_lines(stream)
    if not lines or not _is_beir_header(lines[0]):
        mend = "Add the header line, or write TREC's four columns."
        raise InputError("no BEIR header in the first line", where=stream.label, legal=_BEIR.legal, mend=mend)
    flag = Flag("format_recognised", f"{stream.label}: read as BEIR's qrels (header, then query document grade).")
    return _qrels(stream, read_table(stream, _BEIR), [flag])


def read_msmarco(stream: Stream, what: What, name: str | None = None) -> Run | Qrels:
    """MS MARCO's shorter forms: runs of query document rank [score], qrels of query document."""
    width = _usual_width(_first_lines(stream))
    if what == "qrels":
        if width >= 4:
            return read_trec(stream, what, name)
        flag = Flag("format_recognised", f"{stream.label}: read as pairs of query and relevant document (grade 1).")
        return _qrels(stream, read_table(stream, _PAIRS), [flag])
    if width == 4:
        if all(line[1:2] in (["0"], ["Q0"]) for line in _first_lines(stream)):
            _refuse_swapped(stream, "qrels, where a run is expected", _RUN_FORMS)
        table = read_table(stream, _RANKS_SCORES)
        _check_ranks_and_scores(table, stream)
        flag = Flag("format_recognised", f"{stream.label}: read as query document rank score.")
        return _run(stream, table, name, [flag])
    table = read_table(stream, _RANKS)
    _check_ranks(table, stream)
    flag = Flag("format_recognised", f"{stream.label}: read as query document rank; scores are the ranks, negated.")
    return _run(stream, table, name, [flag])


def _first_lines(stream: Stream) -> list[list[str]]:
    """The fields of the first data lines; a last line that may be cut off is left out."""
    text = stream.head.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    lines = text.split("\n")
    stripped = [line.strip(" \t\r") for line in (lines[:-1] or lines)]
    data = [re.split("[ \t]+", line) for line in stripped if line and not line.startswith("#")]
    return data[:_LINES_LOOKED_AT]


def _usual_width(lines: list[list[str]]) -> int:
    """The number of fields that most lines have, six standing for more; the first line's where two are as usual."""
    counts = Counter(min(len(line), 6) for line in lines)
    return counts.most_common(1)[0][0] if counts else 0


def _is_beir_header(line: list[str]) -> bool:
    return [word.strip('"').lower().replace("_", "-") for word in line] == ["query-id", "corpus-id", "score"]


def _is_run_line(line: list[str]) -> bool:
    return len(line) == 6 and line[1].upper() == "Q0" and all(map(_NUMBER.fullmatch, line[3:5]))


def _refuse_swapped(stream: Stream, looks_like: str, legal: str) -> NoReturn:
    mend = "Qrels come first, runs after them: are the two swapped?"
    raise InputError(f"looks like {looks_like}", where=stream.label, legal=legal, mend=mend)


def _check_ranks(table: Table, stream: Stream) -> None:
    """Three columns are a run only where the third can be nothing but ranks: 1, 2, 3, ... for each query.

    Whole-number scores of a reranker (5, 4, 1) would otherwise be read upside down.
    """
    rank = np.asarray(table.whole)
    order = np.lexsort((rank, table.query))
    same = table.query[order][1:] == table.query[order][:-1]
    first = np.append(True, ~same)
    off = np.where(first, (rank[order] != 0) & (rank[order] != 1), np.append(0, np.diff(rank[order])) != 1)
    if off.any():
        _refuse_ranks(table, stream, int(order[np.argmax(off)]), "the ranks of a query are not 1, 2, 3, ...", _RANKS)
    neighbours = table.query[1:] == table.query[:-1]
    steps = np.diff(rank)[neighbours]
    if len(steps) and (steps < 0).all():
        row = int(np.argmax(neighbours)) + 1
        _refuse_ranks(table, stream, row, "the third column falls from line to line, as scores do", _RANKS)


def _check_ranks_and_scores(table: Table, stream: Stream) -> None:
    """Four columns are a run only where ranks differ within a query and scores do not rise with them."""
    rank, score = np.asarray(table.rank), np.asarray(table.score)
    order = np.lexsort((rank, table.query))
    same = table.query[order][1:] == table.query[order][:-1]
    off = same & ((np.diff(rank[order]) < 1) | (np.diff(score[order]) > 0))
    if off.any():
        row = int(order[int(np.argmax(off)) + 1])
        _refuse_ranks(table, stream, row, "ranks repeat, or scores rise with the rank", _RANKS_SCORES)


def _refuse_ranks(table: Table, stream: Stream, row: int, fault: str, layout: Layout) -> NoReturn:
    what = f"{layout.width} columns that may not be {layout.legal}: {fault}"
    where, line = stream.label, table.lines(row)
    raise InputError(what, where=where, line=line, legal=_RUN_FORMS, mend=layout.hint)


def _keys(stream: Stream, table: Table) -> Keys:
    source = Source(stream.label, stream.sha256(), table.lines)
    return Keys(table.queries, table.query, table.doc, source, lambda row: (stream.label, table.lines(row)))


def _left_over(stream: Stream, table: Table, width: int) -> list[Flag]:
    if not table.left_over:
        return []
    lines = "1 line holds" if table.left_over == 1 else f"{table.left_over} lines hold"
    said = f"{stream.label}: {lines} more than {width} fields; the rest was left, as trec_eval does."
    return [Flag("fields_left_over", said)]


def _run(stream: Stream, table: Table, name: str | None, flags: list[Flag]) -> Run:
    score, rank = table.score, table.rank
    if score is None:
        whole = np.asarray(table.whole)
        score, rank = -whole.astype(np.float64), whole.astype(np.int32)
    flags = [*flags, *_left_over(stream, table, _TREC_RUN.width)]
    return make_run(_keys(stream, table), name or run_name(stream.label), score, rank, flags, _tag(stream.head))


def _tag(head: bytes) -> str | None:
    """The tag in the first line of six fields, trec_eval's runid."""
    lines = head.splitlines()
    whole = lines[:-1] or lines  # the last may be cut off
    fields = next((f for line in whole if len(f := line.split()) >= 6), None)
    return None if fields is None else fields[5].decode(errors="replace")


def _qrels(stream: Stream, table: Table, flags: list[Flag]) -> Qrels:
    grade = np.ones(len(table.query), dtype=np.int64) if table.whole is None else table.whole
    return make_qrels(_keys(stream, table), grade, [*flags, *_left_over(stream, table, _TREC_QRELS.width)])

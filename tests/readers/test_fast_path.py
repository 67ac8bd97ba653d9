"""The fast path reads what the general path reads, and both what a reader of ten lines reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from falsify_adapters import readers
from falsify_adapters.errors import InputError
from falsify_adapters.readers import streams, text

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def plain_reader(content: str, width: int) -> list[tuple[int, list[str]]]:
    """(line, fields) of every data line: the rules of SPEC, one line at a time."""
    rows = []
    for number, line in enumerate(content.removeprefix("\ufeff").split("\n"), 1):
        fields = [field for field in re.split("[ \t]+", line.strip(" \t\r")) if field]
        if fields and not fields[0].startswith("#"):
            assert len(fields) >= width
            rows.append((number, fields))
    return rows


@contextmanager
def patched(module: Any, name: str, value: object) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fast")


blank = st.sampled_from([" "] * 30 + ["\t", "  ", " \t "])
word = st.text(alphabet="ab#\"'é\u00a0,19", min_size=1, max_size=3).filter(lambda w: not w.startswith("#"))
score = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["1", "+1.5", "1.", ".5", "-0", "1e5", "007"]),
)
ending = st.sampled_from(["\n"] * 20 + ["\r\n", " \n", "\n\n", "\n# c\n", " more\n", "\t\r\n"])
start = st.sampled_from([""] * 20 + [" ", "\t"])


@st.composite
def run_text(draw: st.DrawFn) -> str:
    plain = draw(st.booleans())
    separator = draw(st.sampled_from([" ", "\t"]))
    lines = [draw(st.sampled_from(["", "", "", "\ufeff", "# c\n"]))]
    for _ in range(draw(st.integers(1, 12))):
        rank = draw(st.sampled_from(["1", "2", "10", "+3", "1.5", "x"] if draw(st.booleans()) else ["1", "2"]))
        fields = [draw(word), "Q0", draw(word), rank, draw(score), draw(word)]
        if plain:
            lines.append(separator.join(fields) + "\n")
        else:
            cut = "".join(f + draw(blank) for f in fields[:-1])
            lines.append(draw(start) + cut + fields[-1] + draw(ending))
    return "".join(lines)


@given(content=run_text(), block=st.sampled_from([1 << 24, 40, 7]))
@settings(max_examples=80, deadline=None)
def test_runs_are_read_alike_by_all_paths(folder: Path, content: str, block: int) -> None:
    path = folder / "x"
    path.write_bytes(content.encode())
    with patched(streams, "BLOCK", block), patched(streams, "_HEAD", 200 if block < 1000 else 1 << 16):
        run = readers.read_run(path)
        with patched(text, "_regular_lines", lambda *_: 0):
            general = readers.read_run(path)
    want = plain_reader(content, 6)
    assert [run.queries[i] for i in run.query] == [fields[0] for _, fields in want]
    assert list(run.queries) == list(dict.fromkeys(fields[0] for _, fields in want))
    assert run.doc.to_list() == [fields[2] for _, fields in want]
    assert run.score.tolist() == [float(fields[4]) for _, fields in want]
    ranks = [fields[3] for _, fields in want]
    if all(map(WHOLE.fullmatch, ranks)):
        assert run.rank is not None
        assert run.rank.tolist() == list(map(int, ranks))
    else:
        assert run.rank is None
    assert run.source.line_of is not None
    assert [run.source.line_of(row) for row in range(len(want))] == [number for number, _ in want]
    assert sum(len(fields) > 6 for _, fields in want) == (int(run.flags[0].message.split()[1]) if run.flags else 0)
    assert (general.queries, general.doc.to_list(), general.flags) == (run.queries, run.doc.to_list(), run.flags)
    assert general.query.tolist() == run.query.tolist()
    assert general.score.tolist() == run.score.tolist()
    assert (general.rank is None) == (run.rank is None)


@given(
    value=st.text(alphabet="0123456789+-.eE_infatyx", min_size=1, max_size=6),
    other=st.sampled_from(["q Q0 e 2 1 t", "q Q0  e 2 1 t", "#", "q Q0 e 2 1"]),
)
@settings(max_examples=120, deadline=None)
def test_errors_do_not_depend_on_the_path_and_numbers_are_decimal(folder: Path, value: str, other: str) -> None:
    path = folder / "x"
    path.write_text(f"q Q0 c 1 9 t\nq Q0 d 1 {value} t\n{other}\n")
    outcomes = []
    for regular in (text._regular_lines, lambda *_: 0):
        with patched(text, "_regular_lines", regular):
            try:
                outcomes.append(readers.read_run(path).score.tolist())
            except InputError as error:
                outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    legal = bool(NUMBER.fullmatch(value)) and abs(float(value)) < float("inf") and other != "q Q0 e 2 1"
    assert isinstance(outcomes[0], list) == legal
    if legal:
        assert outcomes[0][1] == float(value)


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from(["0", "1", "1.0", "-2", "+1"])),
        min_size=1,
        max_size=8,
    ),
    separator=st.sampled_from([" ", "\t", "  "]),
)
@settings(max_examples=80, deadline=None)
def test_qrels_are_read_alike_and_repeats_settled(
    folder: Path, rows: list[tuple[str, str, str]], separator: str
) -> None:
    path = folder / "x"
    path.write_text("".join(separator.join([q, "0", d, g]) + "\n" for q, d, g in rows))
    want: dict[tuple[str, str], int] = {}
    clash = any(int(float(g)) != want.setdefault((q, d), int(float(g))) for q, d, g in rows)
    if clash:
        with pytest.raises(InputError, match="judged twice"):
            readers.read_qrels(path)
        return
    qrels = readers.read_qrels(path)
    got = zip([qrels.queries[i] for i in qrels.query], qrels.doc, qrels.grade.tolist(), strict=True)
    assert [((q, d), g) for q, d, g in got] == list(want.items())
    assert bool(qrels.flags) == (len(want) < len(rows))


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        (b"a b\nc d\n", 2),
        (b"a\tb\nc\td\n", 2),
        (b"a\tb\nc d\n", 0),
        (b"a b\nc d e\n", 0),
        (b"a b c\nd\n", 0),
        (b"a  b\n", 0),
        (b"a b \n", 0),
        (b" a b\n", 0),
        (b"a b\n\nc d\n", 0),
        (b"#a b\nc d\n", 0),
        (b"a b\n#c d\n", 0),
        (b"a #b\n", 1),
        (b"a b\r\n", 0),
        (b"a\x0bb\n", 0),
        (b"a\x01b c\n", 0),
        (b"a\n", 0),
        (b"\n", 0),
    ],
)
@pytest.mark.parametrize("slice_size", [1, 5, 1 << 20])
def test_what_counts_as_regular(block: bytes, lines: int, slice_size: int) -> None:
    with patched(text, "_SLICE", slice_size):
        assert text._regular_lines(block, 2) == lines
        assert text._regular_lines(block, 0) == 0


def test_the_line_of_a_row_counts_what_was_skipped() -> None:
    import numpy as np

    data = [3, 4, 7, 8, 9, 12]
    skipped = np.array([n for n in range(1, 15) if n not in data])
    assert [text.LineMap(skipped)(row) for row in range(6)] == data
    assert [text.LineMap(skipped, np.array([1, 5]))(row) for row in range(2)] == [4, 12]

"""Each error of a file: its class, the file, the line, what is legal and the cure."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from falsify_adapters import readers
from falsify_adapters.errors import InputError, MissingInputError

GOOD = "q Q0 d 1 2.0 t\n"
Read = Callable[..., object]


def error(read: Read, path: Path, content: bytes | str) -> InputError:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.where == str(path)
    assert str(caught.value).startswith(str(path))
    return caught.value


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"# only a comment\n", b"\xef\xbb\xbf", b" \t \r\n", gzip.compress(b"", mtime=0)]
)
@pytest.mark.parametrize("read", [readers.read_run, readers.read_qrels])
def test_no_data_lines(tmp_path: Path, read: Read, content: bytes) -> None:
    found = error(read, tmp_path / "x", content)
    assert "holds no data lines" in str(found)
    assert "Legal: query" in str(found)


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (GOOD * 2 + "q Q0 d\0e 1 2.0 t\n", 3, "a NUL byte: this is a binary file"),
        (GOOD.encode() + b"q Q0 d\xff 1 2.0 t\n", 2, "byte 0xff is not UTF-8"),
        (GOOD.encode() + b"q Q0 d\xed\xb3\xbf 1 2.0 t\n", 2, "is not UTF-8"),
        (GOOD.encode("utf-16"), 1, "UTF-16 text"),
        (GOOD + "q Q0 d 1 2.0\n" + GOOD, 2, "5 fields where 6 are needed: 'q Q0 d 1 2.0'"),
        (GOOD * 3 + "\n# c\n\tq  d\t1 \n", 6, "3 fields where 6 are needed: 'q  d\\t1'"),
        (GOOD + "q Q0 doc one x 2.0 t\n", 2, "the score 'x' is not a number"),
        (GOOD + "q Q0 e 2 high t\n", 2, "the score 'high' is not a number"),
        (GOOD + "q Q0 e 2 1_0 t\n", 2, "the score '1_0' is not a number"),
        (GOOD + "q Q0 e 2 0x1p3 t\n", 2, "the score '0x1p3' is not a number"),
        (GOOD + "q Q0 e 2 1,5 t\n", 2, "the score '1,5' is not a number"),
        (GOOD + "#\nq Q0 e 2 nan t\n", 3, "not a number (NaN or missing)"),
        (GOOD + "q Q0 e 2 inf t\n", 2, "infinite"),
        (GOOD + "q Q0 e 2 -Infinity t\n", 2, "infinite"),
        (GOOD + "q Q0 e 2 1e999 t\n", 2, "infinite"),
        (GOOD + "q Q0 a\x0bb 2 1 t\n", 2, "the document id 'a\\x0bb' holds a blank"),
        (GOOD + "q Q0 a\rb 2 1 t\n", 2, "the document id 'a\\rb' holds a blank"),
        ("q Q0 d 1 2.0\n" * 3, 1, "5 fields where 6 are needed"),
        ("one\n", 1, "1 field where 6 are needed"),
    ],
)
def test_faults_of_runs_are_named_with_their_line(tmp_path: Path, content: bytes | str, line: int, words: str) -> None:
    found = error(readers.read_run, tmp_path / "x.run", content)
    assert found.line == line
    assert f"line {line}: " in str(found)
    assert words in str(found)
    assert found.legal
    # The same fault, packed.
    packed = error(
        readers.read_run,
        tmp_path / "x.run.gz",
        gzip.compress(content if isinstance(content, bytes) else content.encode()),
    )
    assert packed.line == line


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("q 0 d 1\nq 0 e 1.5\n", 2, "the grade '1.5' is not a whole number"),
        ("q 0 d 1\n\nq 0 e high\n", 3, "the grade 'high' is not a whole number"),
        ("q 0 d nan\n", 1, "the grade 'nan' is not a whole number"),
        ("q 0 d inf\n", 1, "the grade 'inf' is not a whole number"),
        ("q 0 d 1_0\n", 1, "the grade '1_0' is not a whole number"),
        ("q 0 d 1\nq 0 e 1001\n", 2, "the grade 1001 is too large: trec_eval would hang"),
        ("q 0 d -1001\n", 1, "the grade -1001 is too large"),
        ("q 0 d 100000000000000000000000\n", 1, "too large"),
        ("q 0 d\n", 1, "3 fields where 4 are needed: 'q 0 d'"),
        ("q 0 d 1\nq 0 e\n", 2, "3 fields where 4 are needed"),
        ("q d 1\nq e 0\n", 1, "3 fields where 4 are needed"),
        ("query-id\tcorpus-id\tscore\nq\td\t1\nq\te f\t1\n", 3, "4 fields where 3 are needed"),
        ("query-id\tcorpus-id\tscore\nq\td\t0.5\n", 2, "the grade '0.5' is not a whole number"),
        ("q\td\nq\td\t1\nq\te\n", 2, "3 fields where 2 are needed"),
    ],
)
def test_faults_of_qrels_are_named_with_their_line(tmp_path: Path, content: str, line: int, words: str) -> None:
    found = error(readers.read_qrels, tmp_path / "qrels", content)
    assert found.line == line
    assert words in str(found)
    assert found.legal


def test_a_huge_grade_comes_with_the_cure(tmp_path: Path) -> None:
    found = error(readers.read_qrels, tmp_path / "qrels", "q 0 a 100000\n")
    assert "binning" in str(found)
    assert "whole numbers from -1000 to 1000" in str(found)


def test_two_grades_for_one_document_name_both_lines_and_both_grades(tmp_path: Path) -> None:
    found = error(readers.read_qrels, tmp_path / "qrels", "q 0 d 1\n# c\nq 0 e 1\nq 2 d 0\n")
    assert "query 'q', document 'd' is judged twice with different grades, 1 and 0 (lines 1 and 4)" in str(found)
    assert "subtopic" in str(found)
    # Repeats before the clash do not move the lines.
    found = error(readers.read_qrels, tmp_path / "qrels", "q 0 x 1\nq 0 x 1\nq 0 d 1\nq 0 d 1\nq 0 d 2\n")
    assert "1 and 2 (lines 3 and 5)" in str(found)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("q a 1.5\nq b 0.5\n", "line 1: the rank '1.5' is not a whole number"),
        ("q a 5\nq b 4\nq c 1\n", "the ranks of a query are not 1, 2, 3, ..."),
        ("q a 3\nq b 2\nq c 1\n", "the third column falls from line to line, as scores do"),
        ("q a 1\nq b 1\n", "the ranks of a query are not 1, 2, 3, ..."),
        ("q a 1 3\nq b 2 4\n", "line 2: 4 columns that may not be query document rank score"),
        ("q a 1 3\nq b 1 2\n", "ranks repeat, or scores rise"),
        ("q a x 3\nq b 2 2\n", "line 1: the rank 'x' is not a whole number"),
        ("q 0 d1 1\nq 0 d2 0\n", "looks like qrels, where a run is expected"),
    ],
)
def test_short_runs_that_could_be_read_two_ways_are_errors(tmp_path: Path, content: str, words: str) -> None:
    found = error(readers.read_run, tmp_path / "x", content)
    assert words in str(found)
    assert found.mend


def test_a_run_in_the_place_of_qrels_is_an_error(tmp_path: Path) -> None:
    found = error(readers.read_qrels, tmp_path / "x", GOOD)
    assert "looks like a run, where qrels are expected" in str(found)
    assert "are the two swapped?" in str(found)


def test_missing_files_folders_and_empty_paths(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match=r"nope.run: there is no such file") as caught:
        readers.read_run(tmp_path / "nope.run")
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(MissingInputError, match=r"looked up from"):
        readers.read_run("nope.run")
    with pytest.raises(InputError, match=r"is a folder"):
        readers.read_run(tmp_path)
    with pytest.raises(MissingInputError, match=r"the path is empty"):
        readers.read_run("")
    with pytest.raises(MissingInputError, match=r"x\\x00y.: cannot be opened"):
        readers.read_run("x\0y")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (bz2.compress(GOOD.encode()), "compressed as bzip2"),
        (lzma.compress(GOOD.encode()), "compressed as xz"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 20, "compressed as zstd"),
    ],
)
def test_other_compressions_are_named(tmp_path: Path, content: bytes, words: str) -> None:
    found = error(readers.read_run, tmp_path / "x", content)
    assert words in str(found)
    assert "Unpack it first" in str(found)


def test_a_zip_archive_is_named(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.run", GOOD)
    assert "a zip archive" in str(error(readers.read_run, tmp_path / "x.zip", buffer.getvalue()))


def test_broken_gzip_is_an_error_wherever_it_breaks(tmp_path: Path) -> None:
    good = gzip.compress((GOOD * 50).encode())
    assert "ends in the middle" in str(error(readers.read_run, tmp_path / "x", good[:-9]))
    assert "gzip that cannot be read" in str(error(readers.read_run, tmp_path / "x", good[:12] + b"junk" + good[16:]))
    assert "gzip that cannot be read" in str(error(readers.read_run, tmp_path / "x", good + b"trailing"))
    assert "gzip -t" in str(error(readers.read_run, tmp_path / "x", good[:3]))


def test_endless_lines_and_bombs_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from falsify_adapters.readers import streams, text

    for module in (streams, text):
        monkeypatch.setattr(module, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "x"
    found = error(readers.read_run, path, gzip.compress(GOOD.encode() + b"x" * (3 << 20)))
    assert "a line longer than 1 MiB" in str(found)
    assert found.line == 2
    monkeypatch.setattr(streams, "LARGEST", 1 << 20)
    monkeypatch.setattr(streams, "BLOCK", 1 << 18)
    assert "GiB of text" in str(error(readers.read_run, path, gzip.compress(GOOD.encode() * 200_000)))


def test_a_closed_file_and_one_open_for_writing_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(GOOD)
    with path.open() as file:
        pass
    with pytest.raises(InputError, match=r"cannot be read: I/O operation on closed file"):
        readers.read_run(file)
    with path.open("wb") as file, pytest.raises(InputError, match=r"cannot be read"):
        readers.read_run(file)


def test_text_with_lone_surrogates_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r"line 2: byte 0xed is not UTF-8"):
        readers.read_run(io.StringIO(GOOD + "q Q0 d\udcff 2 1 t\n"))

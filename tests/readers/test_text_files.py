"""Files of lines: what is read, in which order, and with which flags."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from falsify_adapters import readers
from falsify_adapters.model import Qrels, Run
from falsify_adapters.readers import trec

RUN = b"q2 Q0 d1 1 3.5 t\nq2 Q0 d2 2 2.5 t\nq1 Q0 d1 1 9 t\nq2 Q0 d3 3 1 t\n"
QRELS = b"q2 0 d1 1\nq2 0 d2 -1\nq1 0 d1 2\nq2 0 d3 0\n"


def run_rows(run: Run) -> list[tuple[str, str, float, int | None]]:
    ranks = [None] * len(run.score) if run.rank is None else run.rank.tolist()
    names = [run.queries[i] for i in run.query]
    return list(zip(names, run.doc.to_list(), run.score.tolist(), ranks, strict=True))


def qrels_rows(qrels: Qrels) -> list[tuple[str, str, int]]:
    names = [qrels.queries[i] for i in qrels.query]
    return list(zip(names, qrels.doc.to_list(), qrels.grade.tolist(), strict=True))


WANT_RUN = [("q2", "d1", 3.5, 1), ("q2", "d2", 2.5, 2), ("q1", "d1", 9.0, 1), ("q2", "d3", 1.0, 3)]
WANT_QRELS = [("q2", "d1", 1), ("q2", "d2", -1), ("q1", "d1", 2), ("q2", "d3", 0)]


def test_a_run_keeps_the_order_of_the_file_and_queries_that_of_first_appearance(tmp_path: Path) -> None:
    path = tmp_path / "bm25-k1=0.9.run"
    path.write_bytes(RUN)
    run = readers.read_run(str(path))
    assert run_rows(run) == WANT_RUN
    assert run.queries == ("q2", "q1")
    assert run.query.dtype == np.int32
    assert run.rank is not None
    assert run.rank.dtype == np.int32
    assert run.score.dtype == np.float64
    assert run.doc.dtype == pl.String
    assert run.doc.name == "doc"
    assert run.name == "bm25-k1=0.9"
    assert run.flags == ()
    assert run.source.path == str(path)
    assert run.source.sha256 == hashlib.sha256(RUN).hexdigest()


def test_qrels_keep_negative_grades(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_bytes(QRELS)
    qrels = readers.read_qrels(path)
    assert qrels_rows(qrels) == WANT_QRELS
    assert qrels.queries == ("q2", "q1")
    assert qrels.grade.dtype == np.int64
    assert qrels.source.sha256 == hashlib.sha256(QRELS).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.replace(b" ", b"\t"),
        lambda b: b.replace(b" ", b"  "),
        lambda b: b.replace(b"Q0 ", b"Q0\t \t"),
        lambda b: b"\xef\xbb\xbf" + b,
        lambda b: b.replace(b"\n", b"\r\n"),
        lambda b: b"  " + b.replace(b"\n", b" \t\n  "),
        lambda b: b"# a comment\n\n" + b.replace(b"\n", b"\n\n#q9 Q0 d 1 1 t\n \t \n"),
        lambda b: b.rstrip(b"\n"),
        lambda b: b + b"\n\n",
        lambda b: b"\xef\xbb\xbf# comment\r\n" + b.replace(b"\n", b"\r\n"),
    ],
)
def test_blanks_comments_line_ends_and_marks_change_nothing(tmp_path: Path, change) -> None:
    (tmp_path / "a").write_bytes(change(RUN))
    (tmp_path / "b").write_bytes(change(QRELS))
    run, qrels = readers.read_run(tmp_path / "a"), readers.read_qrels(tmp_path / "b")
    assert run_rows(run) == WANT_RUN
    assert qrels_rows(qrels) == WANT_QRELS
    assert run.flags == qrels.flags == ()
    for table, text in ((run, change(RUN)), (qrels, change(QRELS))):
        lines = text.split(b"\n")
        for row, name in enumerate(table.doc):
            assert name.encode() in lines[table.source.line_of(row) - 1].split()


def test_more_fields_than_trec_eval_reads_are_counted_and_left(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(RUN.replace(b"3.5 t", b"3.5 t more junk"))
    run = readers.read_run(path)
    assert run_rows(run) == WANT_RUN
    assert [f.code for f in run.flags] == ["fields_left_over"]
    assert "1 line holds more than 6 fields" in run.flags[0].message
    path.write_bytes(QRELS.replace(b"\n", b" x\n"))
    qrels = readers.read_qrels(path)
    assert qrels_rows(qrels) == WANT_QRELS
    assert "4 lines hold more than 4 fields" in qrels.flags[0].message


def test_ids_are_cut_at_ascii_blanks_only_and_quotes_mean_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(
        'q\u00a01 Q0 d\u00a01 1 2.0 t\nq\u00a01 Q0 "d 2 1.0 t\n"q Q0 d#1 1 "t\' 1\n'.replace("\"t' 1", "1 t")
    )
    run = readers.read_run(path)
    assert run.queries == ("q\u00a01", '"q')
    assert run.doc.to_list() == ["d\u00a01", '"d', "d#1"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("+1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e5", 1e5),
        ("-2E-3", -0.002),
        ("9007199254740993", 2.0**53),
        ("-0", 0.0),
    ],
)
def test_every_decimal_form_of_a_score_is_read_as_python_reads_it(tmp_path: Path, text: str, value: float) -> None:
    path = tmp_path / "x"
    path.write_text(f"q Q0 d 1 {text} t\n")
    assert readers.read_run(path).score.tolist() == [value]


@pytest.mark.parametrize("rank", ["one", "1.0", "", "99999999999"])
def test_a_rank_that_is_no_whole_number_leaves_the_run_without_ranks(tmp_path: Path, rank: str) -> None:
    path = tmp_path / "x"
    path.write_text(f"q Q0 d 1 2 t\nq Q0 e {rank or '-'} 1 t\n")
    assert readers.read_run(path).rank is None


def test_grades_written_as_floats_are_whole_numbers_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("q 0 d 1.0\nq 0 e +2\nq 0 f 3e0\nq 0 g -1000\n")
    assert readers.read_qrels(path).grade.tolist() == [1, 2, 3, -1000]


def test_identical_repeats_are_dropped_and_counted_and_lines_stay_right(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("q 0 d 1\n# no data\nq 0 d 1\nq 1 d 1\nq 0 e 0\n")
    qrels = readers.read_qrels(path)
    assert qrels_rows(qrels) == [("q", "d", 1), ("q", "e", 0)]
    assert [f.code for f in qrels.flags] == ["duplicate_judgments"]
    assert "2 judgments repeat an earlier one" in qrels.flags[0].message
    assert qrels.source.line_of is not None
    assert [qrels.source.line_of(row) for row in (0, 1)] == [1, 5]


def test_repeats_inside_a_run_are_left_to_the_ranking(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("q Q0 d 1 2 t\nq Q0 d 2 1 t\n")
    assert len(readers.read_run(path).score) == 2


def test_gzip_is_told_by_its_first_bytes_and_members_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "no-ending"
    stored = gzip.compress(RUN[:20]) + gzip.compress(RUN[20:]) + b"\x00" * 512
    path.write_bytes(stored)
    run = readers.read_run(path)
    assert run_rows(run) == WANT_RUN
    assert run.source.sha256 == hashlib.sha256(stored).hexdigest()
    plain = tmp_path / "plain.run.gz"
    plain.write_bytes(RUN)
    assert run_rows(readers.read_run(plain)) == WANT_RUN
    assert readers.read_run(plain).name == "plain"


def test_open_files_are_read_and_left_open(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_bytes(RUN)
    with path.open("rb") as file:
        run = readers.read_run(file)
        assert not file.closed
    assert run_rows(run) == WANT_RUN
    assert run.source.sha256 == hashlib.sha256(RUN).hexdigest()
    with path.open(encoding="utf-8") as text:
        run = readers.read_run(text)
        assert not text.closed
    assert run_rows(run) == WANT_RUN
    assert run.source.sha256 is None
    held = readers.read_run(io.StringIO(RUN.decode()))
    assert run_rows(held) == WANT_RUN
    assert (held.name, held.source.path) == ("run", "<StringIO>")
    assert run_rows(readers.read_run(io.BytesIO(gzip.compress(RUN)))) == WANT_RUN


def test_standard_input_is_read_once() -> None:
    code = (
        "from falsify_adapters import readers\nfrom falsify_adapters.errors import InputError\n"
        "r = readers.read_run('-')\nprint(r.name, r.source.path, len(r.score), r.source.line_of(3))\n"
        "try:\n readers.read_run('-')\nexcept InputError as e:\n print(e)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=RUN, capture_output=True, check=True)
    first, second = done.stdout.decode().splitlines()
    assert first == "stdin - 4 4"
    assert second.startswith("-: holds no data lines.")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a Unix thing")
def test_a_named_pipe_is_read_once_with_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(RUN,))
    writer.start()
    run = readers.read_run(path)
    writer.join()
    assert run_rows(run) == WANT_RUN
    assert run.source.sha256 == hashlib.sha256(RUN).hexdigest()


def test_ms_marcos_three_columns_are_ranks(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("1\t10\t1\n1\t11\t2\n2\t10\t1\n2\t9\t2\n")
    run = readers.read_run(path)
    assert run_rows(run) == [("1", "10", -1.0, 1), ("1", "11", -2.0, 2), ("2", "10", -1.0, 1), ("2", "9", -2.0, 2)]
    assert [f.code for f in run.flags] == ["format_recognised"]
    assert "scores are the ranks, negated" in run.flags[0].message


def test_four_columns_of_a_run_are_ranks_and_scores(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("1\t10\t1\t20.5\n1\t11\t3\t20.5\n2\t10\t1\t7\n")
    run = readers.read_run(path)
    assert run_rows(run) == [("1", "10", 20.5, 1), ("1", "11", 20.5, 3), ("2", "10", 7.0, 1)]
    assert [f.code for f in run.flags] == ["format_recognised"]


def test_two_columns_of_qrels_are_relevant_pairs(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("1\t10\n2\t11\n")
    qrels = readers.read_qrels(path)
    assert qrels_rows(qrels) == [("1", "10", 1), ("2", "11", 1)]
    assert [f.code for f in qrels.flags] == ["format_recognised"]


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n# made by hand\n"])
def test_beirs_header_is_recognised(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "test.tsv"
    path.write_bytes(before + b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n")
    qrels = readers.read_qrels(path)
    assert qrels_rows(qrels) == [("q1", "d1", 1), ("q1", "d2", 0)]
    assert [f.code for f in qrels.flags] == ["format_recognised"]
    assert qrels.source.line_of is not None
    assert qrels.source.line_of(0) == before.count(b"\n") + 2


def test_a_format_can_be_named_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("1\t10\t1\n1\t11\t2\n")
    assert readers.read_run(path, format="msmarco").score.tolist() == [-1, -2]
    assert readers.read_run(path, format=trec.read_msmarco).score.tolist() == [-1, -2]
    with pytest.raises(ValueError, match=r"6 are needed"):
        readers.read_run(path, format="trec")
    with pytest.raises(ValueError, match=r"no format 'csv'.*trec, beir, msmarco, ranx-json"):
        readers.read_run(path, format="csv")
    with pytest.raises(ValueError, match=r"no BEIR header"):
        readers.read_qrels(path, format="beir")


def test_every_format_in_the_table_can_be_loaded() -> None:
    import importlib

    for known in readers.FORMATS:
        module, _, function = known.target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))
        assert known.summary


def test_a_name_given_is_the_name_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_bytes(RUN)
    assert readers.read_run(path, name="mine").name == "mine"


def test_many_blocks_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from falsify_adapters.readers import streams

    lines = [f"q{i // 7 % 50} Q0 doc-number-{i} {i % 7 + 1} {-i / 8} t" for i in range(2000)]
    lines.insert(1234, "# in the middle")
    lines.insert(700, "q3 Q0  odd 1 1 t left over")
    text = "\n".join(lines).encode()
    (tmp_path / "x").write_bytes(text)
    (tmp_path / "x.gz").write_bytes(gzip.compress(text))
    whole = readers.read_run(tmp_path / "x")
    monkeypatch.setattr(streams, "BLOCK", 997)
    monkeypatch.setattr(streams, "_HEAD", 500)
    for name in ("x", "x.gz"):
        run = readers.read_run(tmp_path / name)
        assert run_rows(run) == run_rows(whole)
        assert run.queries == whole.queries
        assert [f.code for f in run.flags] == ["fields_left_over"]
        assert run.source.line_of is not None
        for row in (0, 699, 700, 701, 1232, 1233, 1999, 2000):
            assert run.doc[row] in lines[run.source.line_of(row) - 1].split()
    assert readers.read_run(tmp_path / "x").source.sha256 == hashlib.sha256(text).hexdigest()


def test_what_was_read_survives_the_way_to_another_process(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"# c\n" + QRELS + QRELS[:9])
    qrels = pickle.loads(pickle.dumps(readers.read_qrels(path)))
    assert qrels_rows(qrels) == WANT_QRELS
    assert qrels.source.line_of(3) == 5

"""Odd input from end to end: one clear message and exit status 2, or a flag that says what was done. Never a traceback.

The words asserted are those that a tired user needs: which file, which line, what is legal, what to do.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.errors import FalsifyError, InputError, MeasureError, MissingInputError, OptionError

N = 20  # queries of the good files
QRELS = "".join(f"q{i} 0 d{i} 1\nq{i} 0 e{i} 0\n" for i in range(N))
RUN = "".join(
    f"q{i} Q0 d{i} 1 3.0 t\nq{i} Q0 e{i} 2 2.0 t\nq{i} Q0 d{(i + 1) % N} 3 1.0 t\n" for i in range(N)
)  # 60 lines
GOOD_QRELS = {f"q{i}": {f"d{i}": 1, f"e{i}": 0} for i in range(N)}
GOOD_RUN = {f"q{i}": {f"d{i}": 3.0, f"e{i}": 2.0, f"d{(i + 1) % N}": 1.0} for i in range(N)}

FILES: dict[str, str | bytes] = {
    "qrels": QRELS,
    "run": RUN,
    "empty": "",
    "comments": "# nothing\n\n# here\n",
    "binary": bytes(range(256)) * 20,
    "latin1": RUN.encode() + "q3 Q0 d\u00e9 4 0.5 t\n".encode("latin-1"),
    "utf16": RUN.encode("utf-16"),
    "zipped": b"PK\x03\x04" + b"x" * 50,
    "cut.gz": gzip.compress(RUN.encode(), mtime=0)[:-20],
    "other-docs": RUN.replace(" d", " x").replace(" e", " y"),
    "other-queries": re.sub("^q", "topic-", RUN, flags=re.MULTILINE),
    "nan": RUN + "q3 Q0 z 4 nan t\n",
    "inf": RUN + "q3 Q0 z 4 -inf t\n",
    "word": RUN + "q3 Q0 z 4 high t\n",
    "five": RUN + "q3 Q0 z 4 1.0\n",
    "blank-in-id": RUN + "q3 Q0 my doc 0 1.0 t\n",
    "same-line": RUN + "q3 Q0 d3 1 3.0 t\n",
    "two-scores": RUN + "q3 Q0 d3 4 9.5 t\n",
    "clicks": QRELS + "q0 0 z 100000000\n",
    "half": QRELS + "q0 0 z 0.5\n",
    "two-grades": QRELS + "q7 0 d7 2\n",
    "nul": RUN + "q3 Q0 a\0b 4 1.0 t\n",
    "surrogate": RUN.encode() + b"q3 Q0 a\xed\xb3\xbf 4 1.0 t\n",
    "no-gold": QRELS.replace(" 1\n", " 0\n"),
    "negative": QRELS.replace(" 1\n", " -1\n"),
    "one-query": "q0 0 d0 1\n",
    "four-queries": "".join(f"q{i} 0 d{i} 1\n" for i in range(4)),
    "answers-one": RUN[: RUN.index("q1 ")],
    "chunks": "".join(f"q{i} Q0 d{i}#{c} {c + 1} {9 - c} t\n" for i in range(N) for c in range(3)),
    "some-queries": "q0\nq1\nq2\n# a comment\nq3\nq4\nq5\n",
    "unknown-query": "q0\nq99\n",
    "two-ids": "d1\nd2\n",
    "reversed": re.sub(r"(\d) (\d)\.0 t", lambda m: f"{m[1]} {4 - int(m[2])}.0 t", RUN),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def gate(here: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the program in the folder of the files; no warning may come out of it, and no traceback."""
    assert Path.cwd() == here

    def call(*args: str) -> tuple[int, str, str]:
        fast = [] if "--n-boot" in args else ["--n-boot", "100"]
        ours = [] if "--backend" in args else ["--backend", "builtin"]
        status = cli.run(["gate", *args, *fast, *ours])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, out, err

    return call


def one_message(err: str) -> str:
    """The message: one line, or two where the second points to --help."""
    lines = err.splitlines()
    assert len(lines) == 1 or (len(lines) == 2 and lines[1] == "Try 'falsify-adapters gate --help'.")
    assert lines[0].startswith("falsify-adapters: error: ")
    return lines[0].removeprefix("falsify-adapters: error: ")


# What is typed, and the words that have to be in the message, the first of them at its beginning.
REFUSED: list[tuple[list[str], list[str]]] = [
    (["empty", "run"], ["empty: holds no data lines", "Legal: query iteration document grade"]),
    (["qrels", "empty"], ["empty: holds no data lines", "Legal: query Q0 document rank score tag", "to the end"]),
    (["qrels", "comments"], ["comments: holds no data lines", "lines that start with # do not count"]),
    (["qrels", "binary"], ["binary, line 1: a NUL byte: this is a binary file", "Legal: UTF-8 text"]),
    (["binary", "run"], ["binary, line 1: a NUL byte: this is a binary file"]),
    (["qrels", "latin1"], ["latin1, line 61: byte 0xe9 is not UTF-8", "iconv"]),
    (["qrels", "utf16"], ["utf16, line 1: UTF-16 text", "iconv -f UTF-16 -t UTF-8"]),
    (["qrels", "zipped"], ["zipped: compressed as a zip archive", "unzip"]),
    (["qrels", "cut.gz"], ["cut.gz: gzip that cannot be read: it ends in the middle", "gzip -t"]),
    (["qrels", "nul"], ["nul, line 61: a NUL byte"]),
    (["qrels", "surrogate"], ["surrogate, line 61: byte 0xed is not UTF-8"]),
    (["qrels", "folder"], ["folder: is a folder. Legal: a file"]),
    (["folder", "run"], ["folder: is a folder. Legal: a file"]),
    (["qrels", "missing"], ["missing: there is no such file", "Check the path; it is looked up from "]),
    (["missing", "run"], ["missing: there is no such file"]),
    (["", "run"], ["the path is empty", "- for standard input"]),
    (["qrels", "nan"], ["nan, line 61: the score is not a number (NaN", "Legal: a finite decimal number"]),
    (["qrels", "inf"], ["inf, line 61: the score is infinite", "finite score above or below all others"]),
    (["qrels", "word"], ["word, line 61: the score 'high' is not a number", "columns are in the right order"]),
    (["qrels", "five"], ["five, line 61: 5 fields where 6 are needed: 'q3 Q0 z 4 1.0'", "write the six columns"]),
    (["clicks", "run"], ["clicks, line 41: the grade 100000000 is too large", "-1000 to 1000", "floor(log2(count))"]),
    (["half", "run"], ["half, line 41: the grade '0.5' is not a whole number", "never rounded"]),
    (["two-grades", "run"], ["two-grades, line 41: query 'q7', document 'd7' is judged twice", "lines 15 and 41"]),
    (
        ["qrels", "two-scores"],
        ["two-scores: lines 10 and 61: document 'd3' stands twice in the list of query 'q3', with scores 3.0 and 9.5",
         "Use --duplicates best"],
    ),
    (
        ["qrels", "other-docs"],
        ["other-docs: no document of the run occurs in the qrels qrels: the run has 'x0', 'y0', 'x1', the qrels 'd0'",
         "same collection"],
    ),
    (
        ["qrels", "other-queries"],
        ["other-queries: no query of the run is judged: the run has 'topic-0'", "the qrels qrels have 'q0'",
         "spell query ids alike"],
    ),
    (["qrels", "other-queries", "--queries", "both"], ["other-queries: no query of the run is judged"]),
    (
        ["qrels", "chunks"],
        ["chunks: no document of the run occurs in the qrels qrels: the run has 'd0#0'", "--unit-sep '#'"],
    ),
    (["run", "qrels"], ["run: looks like a run, where qrels are expected", "are the two swapped?"]),
    (["qrels", "qrels"], ["qrels: looks like qrels, where a run is expected", "are the two swapped?"]),
    (["qrels", "run", "five"], ["five, line 61: 5 fields"]),
    (["qrels", "run", "--pool", "2"], ["--pool: a pool of 2 documents is too small: a list of run alone holds 3"]),
    (["qrels", "run", "--pool", "39"], ["--pool: a pool of 39 documents is too small", "40 distinct", "not chunks"]),
    (["qrels", "run", "--pool", "0"], ["Invalid value for '--pool': 0 documents are no pool", "1 or more"]),
    (["qrels", "run", "--pool", "abc"], ["--pool: there is no file 'abc'", "Legal: a number, observed, run"]),
    (["qrels", "run", "--pool", "folder"], ["folder: is a folder"]),
    (["qrels", "run", "--pool", "binary"], ["binary: cannot be read as text"]),
    (["qrels", "run", "--pool", "run.txt"], ["--pool: there is no file 'run.txt'"]),
    (["qrels", "run", "--pool", "./run"], ["./run, line 1: several fields", "one document id a line"]),
    (["qrels", "run", "--pool", "two-ids"], ["two-ids: holds 2 documents, and not 38 of those that run lists: 'd0'"]),
    (["qrels", "run", "--pool", "candidates:two-ids"], ["two-ids, line 1: 1 fields", "two fields (query, document)"]),
    (["qrels", "run", "-m", "nDGC@10"], ["'nDGC@10' is no known measure", "Did you mean nDCG@10?"]),
    (["qrels", "run", "-m", "nDCG@0"], ["'0' in 'nDCG@0' is no cutoff", "a whole number from 1"]),
    (["qrels", "run", "-m", "NumRet"], ["'NumRet' has no gate", "a count is no measure of quality"]),
    (["qrels", "run", "-m", ""], ["an empty text is no measure"]),
    (["qrels", "run", "--backend", "trec"], ["there is no backend 'trec'", "builtin, ir_measures, pytrec_eval, ranx"]),
    (["qrels", "run", "--tau", "2"], ["Invalid value for '--tau': 2 is out of range", "above 0 and below 1"]),
    (["qrels", "run", "--tau", "nan"], ["Invalid value for '--tau': nan is out of range"]),
    (["qrels", "run", "--alpha", "0"], ["Invalid value for '--alpha': 0 is out of range"]),
    (["qrels", "run", "--jobs", "0"], ["Invalid value for '--jobs': 0 is out of range", "1 or more"]),
    (["qrels", "run", "--jobs", "two"], ["Invalid value for '--jobs': 'two' is not a whole number"]),
    (["qrels", "run", "--n-boot", "10"], ["Invalid value for '--n-boot': 10 is out of range", "100 or more"]),
    (["qrels", "run", "--seed", "-1"], ["Invalid value for '--seed': -1 is out of range"]),
    (["qrels", "run", "--depth", "0"], ["Invalid value for '--depth': 0 is out of range"]),
    (["qrels", "run", "--ties", "random"], ["Invalid value for '--ties': 'random'", "trec", "input"]),
    (["qrels", "run", "-o", "no/x.json"], ["no/x.json: there is no folder 'no'", "Create it first"]),
    (["qrels", "run", "--per-query", "no/x.csv"], ["no/x.csv: there is no folder 'no'"]),
    (["qrels", "run", "-o", "folder"], ["-o folder"]),
    (["qrels", "run", "-o", "x.zip"], ["-o x.zip: the ending '.zip' stands for no format", "--format"]),
    (["qrels", "run", "--format", "json", "-o", "run"], ["run: this is one of the inputs"]),
    (["qrels", "run", "--queries-file", "missing"], ["--queries-file: there is no file 'missing'"]),
    (["qrels", "run", "--queries-file", "folder"], ["folder: is a folder"]),
    (["qrels", "run", "--queries-file", "empty"], ["empty: no query ids", "one query id a line"]),
    (
        ["qrels", "run", "--queries-file", "unknown-query"],
        ["unknown-query: 1 of 2 queries have no judgments in qrels: 'q99'", "Name judged queries only"],
    ),
    (["-", "-"], ["standard input (-) can be read only once", "one - among QRELS and RUN"]),
    (["qrels"], ["Missing argument 'RUN"]),
    ([], ["Missing argument 'QRELS'"]),
]  # fmt: skip


@pytest.mark.parametrize(("args", "words"), REFUSED, ids=[" ".join(args) or "nothing" for args, _ in REFUSED])
def test_refused_with_one_message(gate: Run, here: Path, args: list[str], words: list[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in here.iterdir()}
    status, out, err = gate(*args)
    assert (status, out) == (2, "")
    message = one_message(err)
    assert message.startswith(words[0])
    for word in words[1:]:
        assert word in message
    assert len(message) < 500
    assert {path: path.stat().st_mtime_ns for path in here.iterdir()} == before


def result(out: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The one result of a JSON report, and its flags."""
    (only,) = json.loads(out)["results"]
    return only, {flag["code"]: flag["message"] for flag in only["flags"]}


def said(gate: Run, *args: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    status, out, err = gate(*args, "--format", "json")
    assert err == ""
    return (status, *result(out))


def test_the_good_files_pass_and_say_only_what_is_true(gate: Run) -> None:
    status, found, flags = said(gate, "qrels", "run", "--pool", "1000")
    assert (status, found["verdict"], found["score"]) == (0, "PASS", 1.0)
    assert set(flags) == {"nulls_coincide", "short_lists"}


def test_identical_lines_are_counted_once(gate: Run) -> None:
    status, found, flags = said(gate, "qrels", "same-line")
    assert (status, found["score"]) == (0, 1.0)
    assert flags["duplicates_removed"].startswith("1 line repeats a document of the same list with the same score")
    assert "rank_contradicts_score" not in flags


def test_the_best_of_two_scores_is_kept_when_asked(gate: Run) -> None:
    status, found, flags = said(gate, "qrels", "two-scores", "--duplicates", "best")
    assert (status, found["score"]) == (0, 1.0)
    assert "with another score (the best-ranked is kept)" in flags["duplicates_removed"]


@pytest.mark.parametrize("qrels", ["no-gold", "negative"])
def test_qrels_without_any_gold_pass_nothing_and_say_why(gate: Run, qrels: str) -> None:
    status, found, flags = said(gate, qrels, "run")
    assert status != 0
    assert found["verdict"] != "PASS"
    assert (found["score"], found["ceiling"], found["chance_corrected"]) == (0.0, 0.0, None)
    assert found["queries"]["without_gold"] == N
    assert flags["queries_without_gold"].startswith(f"{N} of {N} queries have no relevant document for nDCG@10")
    assert "No system could pass" in flags["cannot_pass"]
    assert ("negative_grades" in flags) == (qrels == "negative")


def test_a_level_that_no_grade_reaches_is_the_same(gate: Run) -> None:
    status, found, flags = said(gate, "qrels", "run", "-m", "AP", "-l", "2")
    assert (status != 0, found["measure"], found["score"]) == (True, "AP(rel=2)", 0.0)
    assert flags["queries_without_gold"].startswith(f"{N} of {N} queries have no relevant document for AP(rel=2)")


@pytest.mark.parametrize(("qrels", "n"), [("one-query", 1), ("four-queries", 4)])
def test_under_five_queries_there_is_no_interval(gate: Run, qrels: str, n: int) -> None:
    status, found, flags = said(gate, qrels, "run")
    assert (status, found["verdict"], found["score"], found["queries"]["judged"]) == (3, "UNDER-NS", 1.0, n)
    for null in found["nulls"].values():
        assert (null["ci"], null["ci95"], null["verdict"]) == (None, None, "under-ns")
        assert 0 < null["p"] <= 1
    assert str(n) in flags["few_queries"]
    assert "at least 5" in flags["few_queries"]
    assert flags["queries_ignored"].startswith(f"{N - n} queries of the run have no judgments and are left out")


def test_a_run_that_answers_one_query_scores_a_twentieth(gate: Run) -> None:
    """Cases 11 and 14: the mean runs over the queries of the qrels, unless both are asked for."""
    status, found, flags = said(gate, "qrels", "answers-one")
    assert (status != 0, found["verdict"] != "PASS", found["score"]) == (True, True, 1 / N)
    assert found["queries"] == {"judged": N, "missing": N - 1, "ignored": 0, "without_gold": 0}
    assert flags["queries_missing"].startswith("19 of 20 judged queries are not in the run and score 0: q1, q10")
    status, found, flags = said(gate, "qrels", "answers-one", "--queries", "both")
    assert (status, found["score"], found["queries"]["judged"]) == (3, 1.0, 1)
    assert "queries_missing" not in flags


def test_only_the_queries_of_a_file(gate: Run) -> None:
    _, found, _ = said(gate, "qrels", "run", "--queries-file", "some-queries")
    assert found["queries"] == {"judged": 6, "missing": 0, "ignored": 14, "without_gold": 0}


def test_wrong_qrels_that_happen_to_share_documents_are_shouted_at(gate: Run, here: Path) -> None:
    """Every document of the run is judged, but for the next query but one: never a silent 0."""
    shifted = "".join(f"q{i} 0 d{(i + 2) % N} 1\n" for i in range(N))
    (here / "shifted").write_text(shifted)
    status, found, flags = said(gate, "shifted", "run")
    assert (status, found["verdict"], found["score"]) == (1, "FAIL", 0.0)
    assert flags["nothing_judged"].startswith("NO RETRIEVED DOCUMENT IS JUDGED FOR ITS OWN QUERY")


def test_a_head_of_unjudged_documents_scores_0_and_is_no_error(gate: Run, here: Path) -> None:
    (here / "unjudged-first").write_text("".join(f"q{i} Q0 u{i} 0 9.0 t\n" for i in range(N)) + RUN)
    status, found, flags = said(gate, "qrels", "unjudged-first", "--depth", "1")
    assert (status, found["score"]) == (1, 0.0)
    assert "nothing_judged" in flags
    status, found, _ = said(gate, "qrels", "unjudged-first", "-m", "RR")
    assert (status, found["score"]) == (0, 0.5)


def test_scores_against_ranks_are_told(gate: Run) -> None:
    _, found, flags = said(gate, "qrels", "reversed", "-m", "RR")
    assert found["score"] == pytest.approx(1 / 3)
    assert "in 20 of 20 queries (40 neighbouring pairs)" in flags["rank_contradicts_score"]
    assert "scores are reversed" in flags["rank_contradicts_score"]


def test_tied_scores_are_told(gate: Run, here: Path) -> None:
    """Case 3: a constant scorer whose positives are listed first. The tie rule puts e before d."""
    (here / "constant").write_text(re.sub(r" \d\.0 t", " 0.5 t", RUN))
    _, found, flags = said(gate, "qrels", "constant", "-m", "RR", "--pool", "run")
    assert found["nulls"]["C"]["verdict"] == "fail"
    assert found["tie_span"] == [pytest.approx(1 / 3), 1.0]
    assert found["tied_queries"] == N
    assert found["floor"] == pytest.approx(11 / 18)  # (1 + 1/2 + 1/3) / 3
    assert "no_signal_in_ties" in flags


def test_two_names_for_one_run_are_one_witness(gate: Run, here: Path) -> None:
    (here / "copy").write_text(RUN.replace(" t\n", " other-tag\n"))
    status, out, _ = gate("qrels", "run", "copy", "--format", "json")
    assert status == 0
    for row, other in zip(json.loads(out)["results"], ("copy", "run"), strict=True):
        message = next(f["message"] for f in row["flags"] if f["code"] == "identical_runs")
        assert other in message


def test_a_byte_order_mark_tabs_and_line_ends_of_windows_change_nothing(gate: Run, here: Path) -> None:
    """Cases 53 and 54."""
    (here / "windows").write_text("\ufeff" + RUN.replace(" ", "\t").replace("\n", "\r\n") + "\r\n", newline="")
    status, found, flags = said(gate, "qrels", "windows")
    assert (status, found["score"], found["queries"]["missing"]) == (0, 1.0, 0)
    assert "queries_ignored" not in flags


def test_fields_left_over_are_counted(gate: Run) -> None:
    """Case 52: a blank in an id shifts the columns; trec_eval reads on, and so do we, aloud."""
    _, found, flags = said(gate, "qrels", "blank-in-id")
    assert found["score"] == 1.0
    assert "1 line holds more than 6 fields" in flags["fields_left_over"]


# --- as users call it: a process of its own ---------------------------------------------------------------------------


def program(*args: str, given: str | bytes = b"") -> subprocess.CompletedProcess[bytes]:
    data = given if isinstance(given, bytes) else given.encode()
    command = [sys.executable, "-m", "falsify_adapters", "gate", *args, "--n-boot", "100", "--backend", "builtin"]
    return subprocess.run(command, input=data, capture_output=True, check=False)


@pytest.mark.usefixtures("here")
def test_qrels_or_a_run_from_standard_input() -> None:
    from_run = program("qrels", "-", "--format", "json", given=RUN)
    from_qrels = program("-", "run", "--format", "json", given=QRELS)
    for done in (from_run, from_qrels):
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(done.stdout)["results"][0]["score"] == 1.0
    assert json.loads(from_run.stdout)["results"][0]["path"] == "-"


@pytest.mark.usefixtures("here")
def test_a_process_of_its_own_says_one_line() -> None:
    done = program("qrels", "-")
    assert (done.returncode, done.stdout) == (2, b"")
    assert one_message(done.stderr.decode()).startswith("-: holds no data lines")
    done = program("qrels", "binary")
    assert (done.returncode, done.stdout) == (2, b"")
    assert one_message(done.stderr.decode()).startswith("binary, line 1: a NUL byte")


def test_the_same_bytes_whatever_the_hash_seed_and_the_order_of_lines(here: Path, monkeypatch: Any) -> None:
    reports = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        reports.append(program("qrels", "run", "--format", "json", "-m", "AP", "-m", "nDCG@10").stdout)
    assert reports[0] == reports[1]
    (here / "shuffled").write_text("".join(sorted(RUN.splitlines(keepends=True), reverse=True)))
    shuffled = json.loads(program("qrels", "shuffled", "--format", "json", "-m", "AP", "-m", "nDCG@10").stdout)
    for a, b in zip(json.loads(reports[0])["results"], shuffled["results"], strict=True):
        for key in ("score", "nulls", "floor", "verdict", "tie_span", "flags"):
            assert a[key] == b[key]


# --- from Python -----------------------------------------------------------------------------------------------------


def refused(kind: type[FalsifyError], qrels: Any, run: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        fa.gate(qrels, run, *args, backend="builtin", n_boot=100, **options)
    return str(caught.value)


def passed(qrels: Any, run: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = fa.gate(qrels, run, backend="builtin", n_boot=100, **options)
    assert report.verdict == "PASS"
    return report.entries[0]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"q0": {"a\udcff": 1.0}}, ["<dict>, query 'q0': the document id 'a\\udcff' holds a lone surrogate"]),
        ({"q\udcff": {"a": 1.0}}, ["<dict>: the query id 'q\\udcff' holds a lone surrogate"]),
        ({"q0": {"a\0b": 1.0}}, ["<dict>, query 'q0': the document id 'a\\x00b' holds a NUL character"]),
        ({"q0": {"": 1.0}}, ["an empty document id"]),
        ({"q0": {1.0: 1.0}}, ["the document id 1.0 is a float", "dtype=str"]),
        ({"q0": {b"d0": 1.0}}, ["the document id b'd0' is a bytes"]),
        ({"q0": {"d0": float("nan")}}, ["<dict>, query 'q0': the score is not a number (NaN"]),
        ({"q0": {"d0": 2**2000}}, ["the score is infinite"]),
        ({"q0": {"d0": None}}, ["the score is not a number (NaN or missing)"]),
        ({"q0": {"d0": "1.0"}}, ["the score '1.0' is not a number"]),
        ({"q0": {"t": {"d0": 1.0}}}, ["nested one level too deep"]),
        ({"q0": 1.0}, ["holds no documents with values"]),
    ],
)
def test_dicts_that_are_no_run(changed: dict[Any, Any], words: list[str]) -> None:
    message = refused(InputError, GOOD_QRELS, {**GOOD_RUN, **changed})
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("grade", "words"),
    [
        (10**8, "the grade 100000000 is too large"),
        (0.5, "the grade 0.5 is not a whole number"),
        (float("nan"), "the grade is missing or NaN"),
    ],
)
def test_dicts_that_are_no_qrels(grade: Any, words: str) -> None:
    assert words in refused(InputError, {**GOOD_QRELS, "q0": {"d0": grade}}, GOOD_RUN)


@pytest.mark.parametrize("empty", [{}, {q: {} for q in GOOD_RUN}, [], iter(())])
def test_nothing_at_all_is_an_error(empty: Any) -> None:
    """Case 17: a system that returned nothing is not a system that failed."""
    message = refused(OptionError if empty == [] else InputError, GOOD_QRELS, empty)
    assert "no run was given" in message if empty == [] else "the run is empty" in message


def test_no_qrels_are_an_error() -> None:
    assert "holds no rows" in refused(InputError, {}, GOOD_RUN)


@pytest.mark.parametrize("thing", [None, 3, b"run", 1.5])
def test_what_is_neither_file_nor_run(thing: Any) -> None:
    message = refused(InputError, GOOD_QRELS, thing)
    assert f"run cannot be read from a {type(thing).__name__}" in message
    assert "{query: {document: value}}" in message


class ScoredDoc:
    def __init__(self, query_id: str, doc_id: str, score: float) -> None:
        self.query_id, self.doc_id, self.score = query_id, doc_id, score


def scored() -> Iterator[ScoredDoc]:
    return (ScoredDoc(q, d, s) for q, docs in GOOD_RUN.items() for d, s in docs.items())


def test_a_generator_is_read_once_and_said_to_be_empty_the_second_time() -> None:
    """Case 56: a second call would have scored 0."""
    rows = scored()
    assert passed(GOOD_QRELS, rows).score == 1.0
    message = refused(InputError, GOOD_QRELS, rows)
    assert "<generator>: holds no rows: the run is empty. A generator can be read only once: pass a list." in message


def test_a_list_of_rows_is_one_run() -> None:
    assert passed(GOOD_QRELS, list(scored())).score == 1.0


def test_whole_numbers_as_ids_are_text_and_said() -> None:
    """Case 57: "1" in the qrels, 1 in the run."""
    qrels = {str(i): {str(i + 100): 1} for i in range(N)}
    entry = passed(qrels, {i: {i + 100: 1.0, i + 101: 0.5} for i in range(N)})
    assert entry.score == 1.0
    assert "ids_written_as_text" in {f.code for f in entry.result.flags}


def test_padded_numbers_are_other_ids() -> None:
    message = refused(InputError, {f"{i:03}": {"d": 1} for i in range(N)}, {i: {"d": 1.0} for i in range(N)})
    assert f"{N} query ids differ from those of the qrels" in message
    assert "in leading zeros alone: '0' in the run, '000' there" in message


def test_scores_beyond_32_bits_come_without_a_warning() -> None:
    """Case 6: both are infinite to trec_eval, so d0 (tied, lower id) comes second."""
    entry = passed(GOOD_QRELS, {**GOOD_RUN, "q0": {"z": 1e39, "d0": 1e300, "e0": -1e300}})
    assert entry.result.own[list(entry.queries).index("q0")] == pytest.approx(0.6309297535714575)
    assert "scores_beyond_float32" in {f.code for f in entry.result.flags}


def test_self_matches_dropped_from_list_and_pool() -> None:
    run = {q: {q: 9.0, **docs} for q, docs in GOOD_RUN.items()}
    kept = passed(GOOD_QRELS, run, pool=1000)
    assert kept.score == pytest.approx(0.6309297535714575)
    assert "self_matches" in {f.code for f in kept.result.flags}
    dropped = passed(GOOD_QRELS, run, pool=1000, drop_self=True)
    assert dropped.score == 1.0
    assert dropped.to_dict()["pool"] == {"n": 999, "source": "given"}
    assert "--drop-self leaves no document" in refused(
        InputError, GOOD_QRELS, {q: {q: 1.0} for q in GOOD_RUN}, drop_self=True
    )


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (OptionError, {"tau": 2.0}, "--tau: 2.0 is not legal"),
        (OptionError, {"tau": float("nan")}, "--tau: nan is not legal"),
        (OptionError, {"jobs": 0}, "--jobs: 0 is not legal"),
        (OptionError, {"depth": 0}, "--depth: 0 is not legal"),
        (OptionError, {"ties": "random"}, "--ties: 'random' is not legal"),
        (OptionError, {"queries": "all"}, "--queries: 'all' is not legal. Legal: judged, both"),
        (OptionError, {"duplicates": "last"}, "--duplicates: 'last' is not legal. Legal: error, best"),
        (OptionError, {"null_d": "labels"}, "--null-d: 'labels' is not legal"),
        (OptionError, {"pool": 0}, "--pool: a pool of 0 documents"),
        (OptionError, {"pool": 3}, "--pool: a pool of 3 documents is too small"),
        (OptionError, {"pool": 100.5}, "--pool: a pool of 100.5 documents"),
        (MissingInputError, {"pool": "abc"}, "--pool: there is no file 'abc'"),
        (MeasureError, {"rel": 0}, "the relevance level is 0"),
        (MissingInputError, {"queries_file": "nowhere"}, "--queries-file: there is no file 'nowhere'"),
    ],
)
def test_options_are_checked_before_work(kind: type[FalsifyError], options: dict[str, Any], words: str) -> None:
    assert words in refused(kind, GOOD_QRELS, GOOD_RUN, **options)


def test_inputs_are_not_changed() -> None:
    qrels = {q: dict(docs) for q, docs in GOOD_QRELS.items()}
    run = {q: dict(docs) for q, docs in GOOD_RUN.items()}
    passed(qrels, run)
    assert (qrels, run) == (GOOD_QRELS, GOOD_RUN)

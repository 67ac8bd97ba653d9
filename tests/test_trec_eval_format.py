"""trec_eval's lines against trec_eval's own output, on its own test data."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.report.trec_eval import to_trec_eval

# In no order: trec_eval prints its own, and so do we.
MORE = [
    "P.10", "success_10,1", "nDCG@20", "nDCG", "map_cut_10", "recall_100,10", "nDCG@5", "AP@1000",
    "nDCG@1000", "success_5",
]  # fmt: skip
OURS = ("gate_", "floor_", "delta_")


def printed(data: Path, capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    capsys.readouterr()
    qrels, run, *rest = args
    status = cli.run(["gate", str(data / qrels), str(data / run), *rest, "--format", "trec_eval", "--n-boot", "100"])
    assert status in (0, 1, 3)
    return capsys.readouterr().out.splitlines(keepends=True)


def test_the_official_set_differs_by_added_lines_alone(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shared / "data" / "trec_eval"
    lines = printed(data, capsys, "qrels.test", "results.test", "-m", "official")
    theirs = (data / "out.test").read_text().splitlines(keepends=True)
    differ = [d for d in difflib.ndiff(theirs, lines) if not d.startswith("  ")]
    assert differ
    assert all(d.startswith("+ ") and d[2:].startswith(OURS) for d in differ)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("out.test.aq", ["qrels.test", "results.test"]),
        ("out.test.aql", ["qrels.rel_level", "results.test", "-l2"]),
        ("out.test.aqc", ["qrels.test", "results.trunc"]),
        ("out.test.aqcM", ["qrels.test", "results.trunc", "-c", "-M100"]),
    ],
)
def test_every_line_of_each_query(shared: Path, capsys: pytest.CaptureFixture[str], name: str, args: list[str]) -> None:
    data = shared / "data" / "trec_eval"
    more = [word for m in MORE for word in ("-m", m)]
    lines = printed(data, capsys, *args, *more, "-m", "official", "-q")
    theirs = (data / name).read_text().splitlines(keepends=True)
    ours = [line for line in lines if not line.startswith(OURS)]
    assert len(ours) == 3 * (3 + 24 + 11) + 5 + 25 + 11
    names = {line.split()[0] for line in ours}
    assert ours == [line for line in theirs if line.split()[0] in names]


def test_measures_of_trec_eval_that_backends_compute_have_its_names_and_order(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = shared / "data" / "trec_eval"
    asked = ["set_F", "set_map", "set_relative_P", "set_P", "relative_P.10,5", "infAP", "set_recall", "map"]
    args = [word for m in asked for word in ("-m", m)]
    lines = printed(data, capsys, "qrels.test", "results.test", *args, "-q", "--backend", "pytrec_eval")
    ours = [line for line in lines if not line.startswith(OURS)]
    assert len(ours) == 4 * (len(asked) + 1)
    names = {line.split()[0] for line in ours}
    theirs = (data / "out.test.aq").read_text().splitlines(keepends=True)
    assert ours == [line for line in theirs if line.split()[0] in names]


def test_several_runs_are_several_blocks(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shared / "data" / "trec_eval"
    one = printed(data, capsys, "qrels.test", "results.test", "-m", "official")
    again = data / "results.test"
    two = printed(data, capsys, "qrels.test", "results.test", str(again.parent / "results.trunc"), "-m", "official")
    assert two[:30] == one[:30]
    assert [line for line in two if line.startswith("runid")] == [one[0]] * 2
    assert len(two) == 2 * len(one)


def test_a_measure_alone_prints_no_counts(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shared / "data" / "trec_eval"
    lines = printed(data, capsys, "qrels.test", "results.test", "-m", "map")
    assert lines[0] == "map                   \tall\t0.1785\n"
    assert [line.split()[0] for line in lines] == [
        "map", "gate_map", "floor_map", *(f"delta_{null}_map" for null in "ABCD"),
    ]  # fmt: skip


def test_what_trec_eval_does_not_have_comes_last_and_queries_by_their_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels").write_text("q9 0 d1 1\nq10 0 d1 1\nq1 0 d1 1\n")
    (tmp_path / "run").write_text("q9 Q0 d1 1 2.0 t\nq10 Q0 d1 1 2.0 t\n")
    lines = printed(tmp_path, capsys, "qrels", "run", "-m", "RR@10", "-m", "map", "-q", "--pool", "9")
    assert [tuple(line.split("\t")) for line in lines[:8]] == [
        (f"{name:22}", query, f"{value}\n")
        for query, value in (("q1", "0.0000"), ("q10", "1.0000"), ("q9", "1.0000"), ("all", "0.6667"))
        for name in ("map", "RR@10")
    ]


def test_runs_without_names_are_blocks_of_their_own() -> None:
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(9)}
    run = {q: {"d1": 2.0, "d2": 1.0} for q in qrels}
    made = fa.gate(qrels, [run, run], ["nDCG@10", "AP"], pool=100, n_boot=100)
    lines = to_trec_eval(made.to_dict()).splitlines()
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    assert [line.split()[0] for line in lines[:3]] == ["map", "ndcg_cut_10", "gate_map"]


def test_complete_is_not_both(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shared / "data" / "trec_eval"
    files = [str(data / "qrels.test"), str(data / "results.trunc")]
    assert cli.run(["gate", *files, "-c", "--queries", "both"]) == 2
    assert "-c counts queries that the run lacks, and --queries both leaves them out" in capsys.readouterr().err

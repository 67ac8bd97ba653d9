"""trec_eval's lines against trec_eval's own output, on its own test data."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from falsify_adapters import cli

MORE = ["nDCG", "R@10", "R@100", "AP@10", "AP@1000", "Success@5", "nDCG@5", "nDCG@1000", "nDCG@20", "infAP", "SetF"]
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
        ("out.test.aql", ["qrels.rel_level", "results.test", "-l", "2"]),
        ("out.test.aqc", ["qrels.test", "results.trunc"]),
        ("out.test.aqcM", ["qrels.test", "results.trunc", "-M", "100"]),
    ],
)
def test_every_line_of_each_query(shared: Path, capsys: pytest.CaptureFixture[str], name: str, args: list[str]) -> None:
    data = shared / "data" / "trec_eval"
    more = [word for m in MORE[:-2] for word in ("-m", m)]  # infAP and SetF are not the kernel's
    lines = printed(data, capsys, *args, "-m", "official", *more, "-q")
    theirs = {tuple(line.split()[:2]): line for line in (data / name).read_text().splitlines(keepends=True)}
    ours = [line for line in lines if not line.startswith(OURS)]
    assert len(ours) > 130
    for line in ours:
        assert line == theirs[tuple(line.split()[:2])]


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

"""What a benchmark can certify: against the gate itself, sums over the binomial, and on the command line."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.core.power import certifiable, chance, least_hits, queries_for
from falsify_adapters.errors import FalsifyError, OptionError

N = 500


def qrels_of(n: int) -> dict[str, dict[str, int]]:
    return {f"q{i}": {f"d{i}": 1} for i in range(n)}


def verdict(n: int, hits: int) -> str:
    """Null C's, for a system that finds the gold document of `hits` queries at rank 1, and else that of another."""
    run = {
        f"q{i}": {f"d{i}" if i < hits else f"d{(i + 1) % n}": 20.0} | {f"y{i}{j}": float(j) for j in range(9)}
        for i in range(n)
    }
    return fa.gate(qrels_of(n), run, "Success@10", pool=20 * N, n_boot=4000)["Success@10"].nulls["C"].verdict


@pytest.mark.parametrize("n", [10, 28, 100, 300])
def test_the_gate_passes_from_the_least_score_on(n: int) -> None:
    null = fa.floor(qrels_of(n), "Success@10", pool=20 * N, depth=10)["Success@10"]["expected"]
    hits = least_hits(n, null, 1.0, 0.05, 0.05)
    assert hits is not None
    assert verdict(n, hits + 1) == "pass"  # one to either side: the gate's bound is resampled
    assert verdict(n, hits - 2) != "pass"


@pytest.mark.parametrize(("n", "null", "gap"), [(10, 0.1, 0.3), (50, 0.0, 0.06), (28, 0.0186, 0.1)])
def test_the_chance_is_a_sum_over_the_binomial(n: int, null: float, gap: float) -> None:
    p = null + gap
    passing = [x for x in range(n + 1) if x >= (least_hits(n, null, 1.0, 0.05, 0.05) or n + 1)]
    expected = sum(comb(n, x) * p**x * (1 - p) ** (n - x) for x in passing)
    assert chance(n, null, 1.0, gap) == pytest.approx(expected, rel=1e-9)


def test_a_gap_is_where_the_chance_is_what_was_asked_for() -> None:
    for n, null, top in ((20, 0.02, 1.0), (200, 0.3, 0.9), (50, 0.0, 0.25)):
        found = certifiable(n, null, top)
        assert found.gap is not None
        assert found.coin_toss is not None
        assert chance(n, null, top, found.gap) == pytest.approx(0.8, abs=1e-9)
        assert chance(n, null, top, found.coin_toss) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("n", [5, 10, 20, 28, 50, 100, 1000])
@pytest.mark.parametrize("null", [0.0, 0.01, 0.1, 0.5, 0.8])
def test_random_retrieval_hardly_ever_passes(n: int, null: float) -> None:
    assert chance(n, null, 1.0, 0.0) <= 0.0063  # alpha/8


def test_so_many_queries_are_enough() -> None:
    for gap in (0.06, 0.1, 0.3):
        n = queries_for(gap, 0.02, 1.0)
        assert n is not None
        assert all(chance(m, 0.02, 1.0, gap) >= 0.8 for m in range(n, 2 * n, max(1, n // 50)))
        assert chance(n // 2, 0.02, 1.0, gap) < 0.8
    assert queries_for(0.05, 0.02, 1.0) is None  # tau is a coin toss
    assert queries_for(0.5, 0.8, 1.0) is None  # no room
    assert least_hits(4, 0.9, 1.0, 0.05, 0.05) is None


def test_the_broken_benchmark_can_certify_nothing() -> None:
    qrels = {f"q{i}": {f"d{i}{j}": 1 for j in range(5)} for i in range(6)}
    row = fa.power(qrels, "RR@10", pool=100, depth=8)["RR@10"]
    assert row["floor"] < 0.2
    full = fa.power({f"q{i}": {f"d{j}": 1 for j in range(5)} for i in range(6)}, "RR@10", pool=8)["RR@10"]
    assert full["floor"] == pytest.approx(0.793, abs=1e-3)
    assert full["least_score"] is None
    assert [entry["queries"] for entry in full["queries_needed"]][2] is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gaps": [0.0]}, "--gap"), ({"gaps": ["x"]}, "--gap"), ({"chance": 1.0}, "--chance"), ({"tau": 0.0}, "--tau"),
        ({"pool": 1}, "too small"),
    ],
)  # fmt: skip
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(FalsifyError, match=words):
        fa.power(qrels_of(5), **options)


def test_what_is_no_number_of_queries() -> None:
    for call in (lambda: least_hits(0, 0.1, 1.0, 0.05, 0.05), lambda: least_hits(5, 0.5, 0.4, 0.05, 0.05)):
        with pytest.raises(OptionError):
            call()


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{q} 0 {d} 1\n" for q, docs in qrels_of(28).items() for d in docs))
    assert cli.run(["power", str(qrels), "--pool", "218", "-m", "RR@10", "-m", "P@10", "--gap", "0.1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Power: what 28 queries can certify\n")
    assert max(map(len, said.replace(str(qrels), "q").splitlines())) <= 80
    assert cli.run(["power", str(qrels), "--pool", "218", "-m", "RR@10", "--format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "falsify-adapters.power/1"
    assert made["results"] == fa.power(str(qrels), "RR@10", pool=218).to_dict()["results"]
    assert cli.run(["power", str(qrels), "--pool", "218", "-o", str(tmp_path / "p.json")]) == 0
    assert json.loads((tmp_path / "p.json").read_text())["results"][0]["measure"] == "nDCG@10"

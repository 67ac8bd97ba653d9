"""The terminal's report on noise floors: what it says, and that no input can break it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_floors import OBSERVED, check1, check2, good, overlap, report, row, small_pool, units_bug

from falsify_adapters.report.floor_text import percent, render_floor
from falsify_adapters.report.render import render
from falsify_adapters.report.safe import short

GOLD = Path(__file__).parent / "gold"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def plain(*results: dict[str, Any], width: int = 80, ascii_only: bool = False) -> str:
    return render_floor(report(*results), width=width, color=False, ascii_only=ascii_only)


def flat(*results: dict[str, Any]) -> str:
    return " ".join(plain(*results).split())


EVERYTHING = (
    good(flags=[OBSERVED]),
    units_bug(measure="RR(rel=2)@10"),
    small_pool(measure="AP"),
    good(
        measure="nDCG@10",
        check1=check1(per_run=[0.0038, 0.0042, 0.0092], seeds=3, candidates=[], detectable_ratio=5.35),
        noise_overlap=overlap(observed=0.7, p=1e-9, verdict="above"),
        flags=[OBSERVED],
    ),
    row(
        measure="R@100",
        method="chunks",
        uniform=0.0312,
        pool={"n": 3204, "source": "chunks", "n_chunks": 10110},
        depth=1000,
        gold={"total": 40, "in_pool": 38, "queries_without": 2},
        check1=check1(measured=0.001, ratio=0.05, ci=[0.01, 0.2], p=0.0001, verdict="below", implied_n_ci=[900, None]),
    ),
)


@pytest.mark.parametrize(
    ("name", "results", "ascii_only"),
    [
        ("floor-alone.txt", (row(),), False),
        ("floor-one.txt", EVERYTHING[:1], False),
        ("floor-many.txt", EVERYTHING, False),
        ("floor-many-ascii.txt", EVERYTHING, True),
    ],
)
def test_the_page_is_the_gold_file(name: str, results: tuple[dict[str, Any], ...], ascii_only: bool) -> None:
    text = plain(*results, ascii_only=ascii_only)
    path = GOLD / name
    if os.environ.get("REWRITE_GOLD") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_colour_adds_escapes_and_nothing_else() -> None:
    colored = render_floor(report(*EVERYTHING), width=80, color=True, ascii_only=False)
    assert "\x1b[" in colored
    assert ESCAPES.sub("", colored) == plain(*EVERYTHING)


def test_a_report_is_told_by_its_schema() -> None:
    assert render(report(good()), width=80, color=False, ascii_only=False) == plain(good())


def test_no_line_is_wider_than_the_terminal() -> None:
    assert max(len(line) for line in plain(*EVERYTHING).splitlines()) <= 80


@given(name=st.text(min_size=1, max_size=30), width=st.integers(1, 300), ascii_only=st.booleans())
def test_any_name_at_any_width(name: str, width: int, ascii_only: bool) -> None:
    found = check1(candidates=[{"unit": name, "n": 7, "fits": True}])
    made = good(measure=name, check1=found, noise_overlap=overlap(between=[name, name]))
    text = plain(made, small_pool(flags=[{"code": "odd", "message": name}]), width=width, ascii_only=ascii_only)
    assert all(char == "\n" or char.isprintable() for char in text)
    assert text.isascii() or not ascii_only


@pytest.mark.parametrize(
    ("results", "first"),
    [
        ((row(),), "no check asked for"),
        ((good(),), "PASS"),
        ((good(), units_bug()), "FAIL"),
        ((good(), small_pool()), "FAIL"),
        ((good(noise_overlap=overlap(verdict="above")),), "FAIL"),
        ((row(check1=check1(verdict="below")),), "FAIL"),
    ],
)
def test_the_verdict_of_the_whole_is_the_worst(results: tuple[dict[str, Any], ...], first: str) -> None:
    assert plain(*results).splitlines()[0] == f"Noise floor: {first}"


def test_the_implied_n_is_told_beside_the_candidates() -> None:
    assert (
        "measured 0.02246 over 20 seeds, 1.21 times the floor (99 % interval 0.73 to 1.90), p 0.291 "
        "implies N = 180 (99 % interval 111 to 305); files = 218 fits, chunks = 1052 does not"
    ) in flat(good())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"implied_n_ci": [111, None]}, "implies N = 180 (99 % interval 111 and up)"),
        ({"implied_n_ci": None}, "implies N = 180; files"),
        ({"implied_n": None}, "implies N of 111 to 305; files"),
        ({"candidates": [{"unit": "a", "n": 5, "fits": False}]}, "; a = 5 does not fit 1.85"),
        ({"candidates": [{"unit": x, "n": 5, "fits": True} for x in "ab"]}, "; a = 5 and b = 5 fit 1.85"),
        ({"seeds": 1}, "measured 0.02246 over 1 seed, "),
        ({"seeds": 2, "per_run": [0.5, 0.6]}, "measured 0.02246 (2 noise runs, 0.5000 to 0.6000), 1.21"),
        ({"seeds": 1, "per_run": [0.5]}, "measured 0.02246 (1 noise run), 1.21"),
        ({"ci": None}, "1.21 times the floor, p 0.291"),
    ],
)
def test_the_line_of_check_1(change: dict[str, Any], says: str) -> None:
    assert says in flat(row(check1=check1(**change)))


@pytest.mark.parametrize(
    ("ratio", "says"),
    [
        (1.85, "1.85 times the floor would have been noticed in 9 of 10 tries."),
        (5.35, "Only gross failure was tested: it takes 5.35 times the floor to be noticed in 9 of 10 tries."),
        (None, "No scorer could have been noticed here"),
    ],
)
@pytest.mark.parametrize("verdict", ["pass", "above", "below"])
def test_what_would_have_been_noticed_is_always_told(ratio: float | None, says: str, verdict: str) -> None:
    if ratio is None and verdict != "pass":  # something was noticed, whatever N is
        says = "No pool size would explain it"
    assert says in flat(row(check1=check1(detectable_ratio=ratio, verdict=verdict)))


def test_a_measure_of_small_range_is_not_blamed_on_the_benchmark() -> None:
    said = flat(row(check2=check2(verdict="fail", floor=0.001, headroom=0.15)))
    assert "The best list of this benchmark scores 0.1510, so no floor leaves 0.5 above it" in said
    assert "a larger pool" not in said


def test_what_a_typed_number_leaves_open_is_told() -> None:
    assert "measured 0.01000 +- 0.005000 as typed over 20 seeds" in flat(
        row(check1=check1(measured=0.01, rounding=0.005))
    )


def test_the_unit_that_is_wrong_is_named() -> None:
    assert (
        "The unit is wrong: N = 1052 counts chunks, while the noise scores as it would over files (N = 218)."
    ) in flat(units_bug())
    found = check1(verdict="above", candidates=[{"unit": u, "n": n, "fits": True} for u, n in (("a", 9), ("b", 8))])
    assert "N = 1052 does not fit, while the noise scores as it would over a (N = 9) or b (N = 8)" in flat(
        units_bug(check1=found)
    )


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (row(check1=check1(verdict="above", candidates=[])), "BM25 in a hybrid, a reranker, a filter, a cache"),
        (row(check1=check1(verdict="below", candidates=[])), "documents are lost on the way"),
        (small_pool(), "a larger pool, a smaller cutoff, fewer gold documents per query"),
        (small_pool(), "Even a perfect system scores 1.26 times the noise, and 2 times is asked for."),
        (row(check2=check2(signal=1.5, verdict="fail")), "The system scores 1.50 times the noise"),
        (row(check2=check2(signal=None, score=0.0, verdict="fail")), "The system scores nothing"),
        (good(noise_overlap=overlap(verdict="above")), "usually BM25 or a reranker"),
    ],
)
def test_what_to_do_next_follows_from_the_check(result: dict[str, Any], says: str) -> None:
    assert says in flat(result)


def test_a_wrong_n_explains_lists_that_seem_to_agree() -> None:
    text = flat(units_bug(noise_overlap=overlap(verdict="above")))
    assert "give the right N before anything else" in text
    assert "BM25" not in text


def test_no_advice_for_a_pass() -> None:
    assert "->" not in plain(good(noise_overlap=overlap()))


def test_signal_is_told_over_the_measured_noise_and_over_the_floor() -> None:
    assert "15.94 times the measured noise (at least 2) and 19.29 times the floor" in flat(good())
    assert "score 0.3580, 15.94 times the floor (at least 2); headroom" in flat(row(check2=check2()))
    silent = check2(signal=None, signal_over_floor=None)
    assert "above a floor of 0 (at least 2); headroom" in flat(row(check2=silent))


def test_the_pair_of_noise_runs_is_named() -> None:
    assert "have 5.1 % in common at the top, the most of 3 pairs; chance gives 4.6 %, p 0.310" in flat(
        good(noise_overlap=overlap())
    )
    assert "the most of" not in flat(good(noise_overlap=overlap(pairs=1)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.018555, "0.01855"),
        (0.0038710, "0.003871"),
        (0.79315, "0.7932"),
        (0.0, "0.0000"),
        (2.13e-7, "2.1e-07"),
        (None, "-"),
        (0.1, "0.1000"),
    ],
)
def test_small_floors_keep_their_digits(value: float | None, text: str) -> None:
    assert short(value) == text


def test_percent() -> None:
    assert [percent(x) for x in (0.0, 0.125, 0.000123, 1.0)] == ["0.0 %", "12.5 %", "0.012 %", "100.0 %"]

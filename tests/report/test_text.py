"""The terminal's table: what it says, and that no input can break it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_reports import FAIL, OBSERVED, OPEN, PASS, cheat, good, null, report, row, small

from falsify_adapters.report.safe import count, interval, listed, number, p_value, to_ascii, visible
from falsify_adapters.report.tables import Column, aligned
from falsify_adapters.report.text import render_gate

GOLD = Path(__file__).parent / "gold"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def plain(*results: dict[str, Any], width: int = 80, ascii_only: bool = False, details: str = "auto") -> str:
    return render_gate(report(*results), width=width, color=False, ascii_only=ascii_only, details=details)


EVERYTHING = (
    good(paired={"measure": "R@10(top1)", "score": 0.41, "verdict": "PASS"}),
    row("good", "RR@10", 1.0, [0.12, 0.12, 0.08, 0.13], PASS, flags=[OBSERVED]),
    cheat(
        flags=[OBSERVED, {"code": "graded_and_top1_differ", "message": "nDCG@10 fails and R@10(top1) passes."}],
        tie_span=[0.49, 0.53],
        tied_queries=12,
        paired={"measure": "R@10(top1)", "score": 0.3, "verdict": "PASS"},
    ),
    small(queries={"judged": 50, "missing": 3, "ignored": 2, "without_gold": 1}, score_source="kernel"),
    row(
        "a/long/path/of-a-run-with-a-name-that-takes-most-of-the-line.run.gz",
        "nDCG(dcg='exp-log2')@10",
        0.03,
        [0.02] * 4,
        FAIL,
        pool={"n": None, "source": "run", "n_min": 8, "n_max": 12},
        flags=[{"code": "nothing_judged", "message": "No retrieved document is judged for its own query."}],
    ),
)


@pytest.mark.parametrize(
    ("name", "results", "ascii_only"),
    [("one.txt", EVERYTHING[:1], False), ("many.txt", EVERYTHING, False), ("many-ascii.txt", EVERYTHING, True)],
)
def test_the_page_is_the_gold_file(name: str, results: tuple[dict[str, Any], ...], ascii_only: bool) -> None:
    text = plain(*results, ascii_only=ascii_only)
    path = GOLD / name
    if os.environ.get("REWRITE_GOLD") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_colour_adds_escapes_and_nothing_else() -> None:
    colored = render_gate(report(*EVERYTHING), width=80, color=True, ascii_only=False)
    assert "\x1b[" in colored
    assert ESCAPES.sub("", colored) == plain(*EVERYTHING)


def test_ascii_holds_nothing_else() -> None:
    text = render_gate(report(*EVERYTHING, good(run="λ-run")), width=80, color=True, ascii_only=True)
    assert text.isascii()
    assert "\\u03bb-run" in text


def test_no_line_of_a_usual_report_is_wider_than_the_terminal() -> None:
    results = [cheat(), small(), good(), cheat(run="x" * 30)]
    assert max(len(line) for line in plain(*results).splitlines()) <= 80


def test_a_narrow_terminal_folds_sentences_and_never_tables() -> None:
    def tables(text: str) -> list[str]:
        return [" ".join(line.split()) for line in text.splitlines() if re.match(r" *[A-D] ", line)]

    assert tables(plain(cheat(), width=50)) == tables(plain(cheat(), width=200))
    assert len(tables(plain(cheat(), width=50))) == 4


def test_escape_sequences_in_names_are_shown_and_not_sent() -> None:
    evil = "run\x1b]0;title\x07\x1b[2J\r\n\u202egnp\udcff"
    text = render_gate(report(good(run=evil), cheat(run=evil)), width=80, color=False, ascii_only=False)
    assert all(char == "\n" or char.isprintable() for char in text)
    assert r"run\x1b]0;title\x07\x1b[2J\r\n\u202egnp\udcff" in text


@given(name=st.text(min_size=1, max_size=30), width=st.integers(1, 300), ascii_only=st.booleans())
def test_any_name_at_any_width(name: str, width: int, ascii_only: bool) -> None:
    flag = {"code": "odd", "message": name}
    text = plain(good(run=name), cheat(run=name, flags=[flag]), small(measure=name), width=width, ascii_only=ascii_only)
    assert all(char == "\n" or char.isprintable() for char in text)


def test_many_rows_that_pass_are_one_line_each() -> None:
    rows = [good(run=f"run{i}") for i in range(6)]
    assert "95 % interval" not in plain(*rows)
    assert plain(*rows, details="all").count("95 % interval") == 6
    assert plain(*rows, cheat()).count("95 % interval") == 1
    assert "95 % interval" not in plain(*rows, cheat(), details="none")


def test_flags_are_listed_once_and_pointed_at() -> None:
    text = plain(good(), cheat(flags=[OBSERVED]), small())
    assert text.count("N is what qrels and runs hold") == 1
    assert "pool_observed (2 of 3 rows): N is" in text
    assert text.count("notes [1]") == 2


def test_flags_of_one_code_with_several_messages_share_a_number() -> None:
    flags = [[{"code": "ties", "message": f"{n} pairs are tied."}] for n in (3, 5, 5)]
    text = plain(*(cheat(run=f"run{i}", flags=flags[i]) for i in range(3)))
    assert "[1] ties: 3 pairs are tied. And 1 alike." in text
    assert text.count("[1] 3 pairs are tied.") == 1
    assert text.count("[1] 5 pairs are tied.") == 2
    assert "[2]" not in text


def test_nothing_judged_is_said_in_capitals_at_the_top() -> None:
    flag = {"code": "nothing_judged", "message": "No retrieved document is judged for its own query."}
    text = plain(good(), cheat(flags=[flag]))
    assert "NOTHING JUDGED: cheat, nDCG@10" in text.split("\n\n")[0]


@pytest.mark.parametrize(
    ("results", "first"),
    [
        ([good()], "PASS"),
        ([good(), small()], "UNDER-NS"),
        ([good(), small(), cheat()], "FAIL"),
    ],
)
def test_the_verdict_of_the_whole_is_the_worst(results: list[dict[str, Any]], first: str) -> None:
    assert plain(*results).splitlines()[0] == f"Four-null gate: {first}"


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (cheat(), "Fails nulls A, B and D"),
        (cheat(), "hardly depend on the query"),
        (row("x", "RR@10", 0.01, [0.01] * 4, FAIL), "no better than random documents"),
        (row("x", "RR@10", 0.8, [0.1, 0.1, 0.79, 0.1], ["pass", "pass", "fail", "pass"]), "comes from the pool"),
        (row("x", "RR@10", 0.8, [0.1, 0.79, 0.1, 0.1], ["pass", "fail", "pass", "pass"]), "that many queries share"),
        (cheat(flags=[{"code": "below_chance", "message": "-"}]), "reversed scores"),
        (cheat(flags=[{"code": "cannot_pass", "message": "-"}]), "Change the benchmark"),
        (row("x", "AP", 0.06, [0.02] * 4, FAIL, half=0.01), "above 0 with confidence, but smaller than tau"),
        (small(), "About 131 queries like these would decide it; here are 50."),
        (small(), "level 98.75 %"),
    ],
)
def test_what_to_do_next_follows_from_the_nulls(result: dict[str, Any], says: str) -> None:
    assert says in " ".join(plain(result).split())


def test_no_advice_for_a_pass() -> None:
    assert "->" not in plain(good())


def test_without_an_interval_it_says_none_and_why() -> None:
    nulls = {name: null(0.9, 0.1, 0.03, "under-ns", ci95=None, ci=None, p=None) for name in "ABCD"}
    queries = {"judged": 4, "missing": 0, "ignored": 0, "without_gold": 0}
    text = plain(row("tiny", "RR@10", 0.9, [0.1] * 4, OPEN, nulls=nulls, queries=queries))
    assert re.search(r"A permuted gold +0\.1000 +0\.8000 +none +- +under-ns", text)
    assert "Too few queries for an interval: 4 queries" in text


def test_the_reach_of_blunt_nulls_is_shown_only_where_there_are_any() -> None:
    assert "reach" not in plain(good())
    blunt = good()
    blunt["nulls"] = {name: {**value, "reach": 0.03 if name != "C" else None} for name, value in blunt["nulls"].items()}
    assert re.search(r"A permuted gold .* 0\.030 +pass", plain(blunt))


def test_a_toothless_null_is_marked_and_blamed_for_nothing() -> None:
    result = row("rerank", "nDCG@10", 0.9, [0.02, 0.02, 0.88, 0.02], ["pass", "under-ns", "fail", "fail"])
    result["nulls"] = {
        name: {**value, "reach": 0.03 if name != "C" else 1.0} for name, value in result["nulls"].items()
    }
    result["flags"] = [{"code": "null_toothless", "message": "Null A says nothing here."}]
    text = " ".join(plain(result, good()).split())
    assert "Fails null C:" in text
    assert "comes from the pool" in text
    assert "0.880 · 0.880 · 0.020 ✗ 0.880 ·" in text
    assert "· says nothing here" in text


def test_a_fail_without_a_failed_null_is_explained_by_its_flag() -> None:
    text = plain(small(verdict="FAIL", flags=[{"code": "nothing_judged", "message": "NO JUDGED DOCUMENT."}]))
    assert "-> Check that qrels and run belong together" in text
    assert "Fails" not in text


def test_the_table_of_a_candidate_list_fits_a_terminal() -> None:
    result = row("rerank", "nDCG@10", 0.9, [0.02, 0.02, 0.92, 0.02], ["fail", "under-ns", "fail", "fail"])
    result["nulls"] = {name: {**null, "reach": 0.03} for name, null in result["nulls"].items()}
    result["nulls"]["D"]["se"] = 0.0004
    result["flags"] = [{"code": "null_toothless", "message": "-"}]
    assert max(map(len, plain(result, good()).splitlines())) <= 80


@pytest.mark.parametrize(
    ("measure", "says"), [("nDCG@10", "judged@10 0.990"), ("R@5(top1)", "judged@5 0.990"), ("AP", "judged 0.990")]
)
def test_the_share_of_judged_documents_names_its_depth(measure: str, says: str) -> None:
    assert says in plain(good(measure=measure))


def test_ties_are_told_only_where_they_move_the_printed_score() -> None:
    assert "Ties:" not in plain(good(tied_queries=3, tie_span=[0.91189, 0.91191]))
    assert "Ties: 1 query with equal scores" in plain(good(tied_queries=1, tie_span=[0.90, 0.92]))


def test_simulated_values_carry_their_standard_error() -> None:
    result = good(floor_se=0.0002)
    result["nulls"]["D"] |= {"se": 0.0004, "method": "simulated"}
    text = plain(result)
    assert "floor 0.0104 ± 0.0002" in text
    assert "0.0301 ± 0.0004" in text


def test_a_report_without_the_optional_parts() -> None:
    text = plain(good(popularity=None, judged_at_k=None, tie_span=None, ceiling=None, chance_corrected=None))
    assert "ceiling -" in text


@pytest.mark.parametrize(
    ("value", "text"), [(0.12345, "0.1235"), (-0.00001, "0.0000"), (-0.5, "-0.5000"), (None, "-"), (1, "1.0000")]
)
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("p", "text"), [(0.25, "0.250"), (1 / 1001, "0.001"), (1e-5, "1.0e-05"), (None, "-")])
def test_a_p_value_is_never_printed_as_zero(p: float | None, text: str) -> None:
    assert p_value(p) == text


def test_small_words() -> None:
    assert [count(n, "query") for n in (0, 1, 2)] == ["0 queries", "1 query", "2 queries"]
    assert count(2, "judgment") == "2 judgments"
    assert [listed("A"), listed("AB"), listed("ABC")] == ["A", "A and B", "A, B and C"]
    assert interval([-0.1, 0.25], 2) == "-0.10 to 0.25"


@given(st.text())
def test_visible_text_is_printable_and_ascii_where_asked(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(text, ascii_only=True).isascii()
    assert to_ascii(text).isascii()


def test_columns_count_cells_and_not_characters() -> None:
    lines = aligned([Column("name"), Column("n", right=True)], [["日本", "1"], ["abcd", "22"]])
    assert [line.plain for line in lines] == ["name   n", "日本   1", "abcd  22"]

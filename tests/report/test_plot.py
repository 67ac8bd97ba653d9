"""The figure for a paper: what it draws is what the report says."""

from __future__ import annotations

import io
import sys
from typing import Any

import made_floors
import matplotlib
import pytest
from made_reports import cheat, good, report, small
from matplotlib.figure import Figure

import falsify_adapters as fa
from falsify_adapters.errors import NotInstalledError
from falsify_adapters.report.floor_data import FloorReport
from falsify_adapters.report.plot import RED, plot_gate

GATE = report(good(), cheat(), small())


def lines_of(axes: Any, color: str) -> list[Any]:
    return [line for line in axes.lines if line.get_color() == color]


def test_bars_are_the_scores_and_lines_the_nulls() -> None:
    figure = plot_gate(GATE)
    assert len(figure.axes) == 3
    for axes, result in zip(figure.axes, GATE["results"], strict=True):
        means = [null["mean"] for null in result["nulls"].values()]
        bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches if bar.get_gid() == "score"]
        assert bars == [(0.0, pytest.approx(result["score"]))] * 4
        assert [line.get_xdata()[0] for line in lines_of(axes, RED)] == pytest.approx(means)
        zones = [(zone.get_x(), zone.get_width()) for zone in axes.patches if zone.get_gid() == "tau"]
        assert zones == [(pytest.approx(mean), pytest.approx(0.05)) for mean in means]
        gaps = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches if bar.get_gid() == "gap"]
        beaten = [null["mean"] for null in result["nulls"].values() if null["verdict"] == "pass"]
        assert gaps == [(pytest.approx(mean), pytest.approx(result["score"])) for mean in beaten]
        ends = [list(line.get_xdata()) for line in axes.lines if line.get_gid() == "ci95"]
        assert ends == [
            pytest.approx([null["mean"] + end for end in null["ci95"]]) for null in result["nulls"].values()
        ]
        assert result["verdict"] in axes.get_title(loc="left")


def test_ties_have_a_row() -> None:
    result = good(tied_queries=3, tie_span=[0.88, 0.93])
    axes = plot_gate(report(result)).axes[0]
    (ties,) = [line for line in axes.lines if line.get_gid() == "ties"]
    assert list(ties.get_xdata()) == [0.88, 0.93]
    assert axes.get_yticklabels()[-1].get_text() == "tied documents,\nany order"


@pytest.mark.parametrize(("ending", "start", "dated"), [("svg", b"<?xml", "Date"), ("pdf", b"%PDF", "CreationDate")])
def test_it_is_saved_as_vectors_and_the_same_each_time(ending: str, start: bytes, dated: str) -> None:
    saved = []
    for _ in range(2):
        out = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "falsify"}):
            plot_gate(GATE).savefig(out, format=ending, metadata={dated: None})
        saved.append(out.getvalue())
    assert saved[0].startswith(start)
    assert saved[0] == saved[1]


def test_a_result_goes_where_it_is_wanted() -> None:
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(10)}
    run = {f"q{i}": {f"d{i}": 1.0} for i in range(10)}
    made = fa.gate(qrels, run, "RR@10", pool=100, n_boot=100, tau=0.07)
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert made["RR@10"].plot(right) is figure
    assert not left.patches
    assert [bar.get_width() for bar in right.patches if bar.get_gid() == "tau"] == pytest.approx([0.07] * 4)
    assert made["RR@10"].plot() is not figure


def test_names_are_no_mathematics() -> None:
    made = report(good(run="$x_{1$ <b>"))
    plot_gate(made).savefig(io.BytesIO(), format="png")


def test_a_report_draws_itself() -> None:
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(10)}
    run = {f"q{i}": {f"d{i}": 1.0} for i in range(10)}
    made = fa.gate(qrels, run, ["RR@10", "P@1"], pool=100, n_boot=100)
    assert [axes.get_xlabel() for axes in made.plot().axes] == ["RR@10", "P@1"]
    few = fa.gate({"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": {"d1": 1.0}}, "RR@10", pool=100, n_boot=100)
    assert len(few.plot().axes) == 1


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NotInstalledError, match=r"pip install 'falsify-adapters\[plot\]'"):
        plot_gate(GATE)


def test_a_floor_report_draws_itself() -> None:
    checked = made_floors.good(check1=made_floors.check1(per_run=[0.0211, 0.0239], seeds=2))
    made = FloorReport(made_floors.report(checked, made_floors.units_bug(), made_floors.row("P@10")))
    figure = made.plot()
    for axes, result in zip(figure.axes, made.data["results"], strict=True):
        parts = {part.get_gid(): part for part in [*axes.lines, *axes.patches]}
        assert parts["floor"].get_xdata()[0] == result["expected"]
        assert ("noise" in parts) == (result["check1"] is not None)
        assert ("score" in parts) == (result["check2"] is not None)
        if (one := result["check1"]) is not None:
            assert list(parts["noise"].get_xdata()) == [one["measured"]]
            assert list(parts["runs"].get_xdata()) == list(one["per_run"] or ())
            assert parts["sd"].get_width() == pytest.approx(2 * result["sd"] / one["seeds"] ** 0.5)
        if (two := result["check2"]) is not None:
            assert list(parts["score"].get_xdata()) == [two["score"]]
            assert parts["least"].get_width() == pytest.approx(2 * (two["noise"] or two["floor"]))
    figure.savefig(io.BytesIO(), format="svg")


def test_a_floor_of_nothing_is_drawn() -> None:
    figure = FloorReport(made_floors.report(made_floors.row("P@10", expected=0.0, sd=0.0))).plot()
    assert figure.axes[0].get_xscale() == "linear"
    figure.savefig(io.BytesIO(), format="png")

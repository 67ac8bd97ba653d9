"""The figure for a paper: what it draws is what the report says."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from made_reports import cheat, good, report, small

import falsify_adapters as fa
from falsify_adapters.errors import NotInstalledError
from falsify_adapters.report.plot import RED, plot_gate

GATE = report(good(), cheat(), small())


def lines_of(axes: Any, color: str) -> list[Any]:
    return [line for line in axes.lines if line.get_color() == color]


def test_bars_run_from_each_null_to_the_score() -> None:
    figure = plot_gate(GATE)
    assert len(figure.axes) == 3
    for axes, result in zip(figure.axes, GATE["results"], strict=True):
        means = [null["mean"] for null in result["nulls"].values()]
        bars = [patch for patch in axes.patches if patch.get_height() == pytest.approx(0.4)]
        ends = [sorted((bar.get_x(), bar.get_x() + bar.get_width())) for bar in bars]
        assert ends == [pytest.approx(sorted((mean, result["score"]))) for mean in means]
        assert [line.get_xdata()[0] for line in lines_of(axes, RED)] == pytest.approx(means)
        zones = [patch for patch in axes.patches if patch.get_height() == pytest.approx(0.62)]
        assert [zone.get_width() for zone in zones] == pytest.approx([0.05] * 4)
        assert result["verdict"] in axes.get_title(loc="left")


def test_it_is_saved_as_vectors() -> None:
    out = io.BytesIO()
    plot_gate(GATE).savefig(out, format="svg", metadata={"Date": None})
    assert out.getvalue().lstrip().startswith(b"<?xml")
    out = io.BytesIO()
    plot_gate(GATE).savefig(out, format="pdf")
    assert out.getvalue().startswith(b"%PDF")


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

"""Noise floors as a matplotlib figure: floor, measured noise, score and ceiling of each measure on one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from falsify_adapters.report.floor_advice import overall
from falsify_adapters.report.plot import COLOURS, GREY, RED, plain, strip, stripped
from falsify_adapters.report.safe import number, short


def plot_floor(report: Mapping[str, Any]) -> Any:
    """A `matplotlib.figure.Figure` with one panel per measure of a floor report.

    The floor is a red line, in grey one standard deviation of the mean noise run around it. Below it the measured noise
    as a dot, each run as a ring, with the interval of Check 1; then the score of Check 2, in grey what it has to reach
    beyond: the least signal, as a multiple of the noise. The ceiling is dotted. By ratios, unless a value is 0.
    Raises NotInstalledError without matplotlib.
    """
    rows, settings = report["results"], report["settings"]
    figure, panels = strip([1 + sum(row[check] is not None for check in ("check1", "check2")) for row in rows])
    for axes, row in zip(panels, rows, strict=True):
        _panel(axes, row, settings)
    return figure


def _panel(axes: Any, row: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    floor, ceiling, one, two = row["expected"], row["ceiling"], row["check1"], row["check2"]
    spread = row["sd"] / math.sqrt(one["seeds"] if one is not None else 1)
    names, values = [f"floor  {short(floor)}"], [floor, ceiling]
    axes.barh(0, 2 * spread, left=floor - spread, height=0.54, color=GREY, zorder=1, gid="sd")
    if one is not None:
        at = len(names)
        each = [*(one["per_run"] or ()), one["measured"]]
        word = {"pass": "fits the floor", "above": "above the floor", "below": "below the floor"}[one["verdict"]]
        names.append(f"measured noise  {short(one['measured'])}\n{word}")
        colour = COLOURS["pass" if one["verdict"] == "pass" else "fail"]
        axes.plot(each[:-1], [at] * (len(each) - 1), "o", markerfacecolor="none", color="0.3", markersize=4, gid="runs")
        axes.plot(each[-1:], [at], "o", color=colour, markersize=6, gid="noise", zorder=4)
        if one["ci"] is not None:
            ends = [end if end is None else end * floor for end in one["ci"]]
            ends = [0.0 if ends[0] is None else ends[0], ceiling if ends[1] is None else ends[1]]
            axes.plot(ends, [at + 0.3] * 2, color="black", linewidth=0.8, gid="ci")
        values += each
    if two is not None:
        noise = floor if two["noise"] is None else two["noise"]
        at, least = len(names), settings["min_signal"] * noise
        names.append(f"{'best possible' if two['assumed'] else 'score'}  {number(two['score'])}\n{two['verdict']}")
        axes.barh(at, least, height=0.54, color=GREY, zorder=1, gid="least")
        axes.plot([two["score"]], [at], "D", color=COLOURS[two["verdict"]], markersize=6, gid="score", zorder=4)
        values += [two["score"], least]
    axes.axvline(floor, color=RED, linewidth=1.5, zorder=3, gid="floor")
    axes.axvline(ceiling, color="0.4", linewidth=0.9, linestyle=":", zorder=0)
    if min(values) > 0:
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 2, max(values) * 1.1)
    else:
        axes.set_xlim(0, max(values) * 1.02)
    whole = overall([row])
    stripped(axes, names, plain(row["measure"]), plain(row["measure"]) + (f": {whole}" if whole else ""))

"""The page's picture of the gate for a paper: a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falsify_adapters.errors import NotInstalledError
from falsify_adapters.report.advice import NULLS
from falsify_adapters.report.safe import number

WIDTH, ROW, HEAD = 6.3, 0.32, 0.85  # inches: the width of a page's text, a null, what stands around them
SCORE, PASS, FAIL, OPEN, RED, GREY = "#0b57a4", "#00735c", "#b3381a", "#7a5a00", "#d0021b", "#b4bac2"
COLOURS = {"pass": PASS, "fail": FAIL, "under-ns": OPEN}
HATCHES = {"pass": "", "fail": "////", "under-ns": "...."}  # verdicts that differ in print, too


def plot_gate(report: Mapping[str, Any]) -> Any:
    """A `matplotlib.figure.Figure` with one panel per result of a gate report.

    Each null is a row: a bar from its expectation, the red line, to the score; grey, the first tau above it; below, the
    95 % interval (thick) and that of the verdict (thin), where the score would lie. Floor and ceiling are dotted. The
    figure belongs to no window: save it with `figure.savefig`. Raises NotInstalledError without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise NotInstalledError(
            "plots need the package matplotlib", mend="pip install 'falsify-adapters[plot]', or save the HTML page."
        ) from None
    results = report["results"]
    heights = [HEAD + ROW * len(result["nulls"]) for result in results]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(results), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, result in zip(panels, results, strict=True):
        _panel(axes, result, report["settings"]["tau"])
    return figure


def _panel(axes: Any, result: Mapping[str, Any], tau: float) -> None:
    score, ceiling = result["score"], result["ceiling"]
    names = [*NULLS, *sorted(set(result["nulls"]) - set(NULLS))]
    nulls = {name: result["nulls"][name] for name in names if name in result["nulls"]}
    for at, (name, null) in enumerate(nulls.items()):
        mean, kind = null["mean"], null["verdict"]
        axes.barh(at, tau, left=mean, height=0.62, color=GREY, zorder=1)
        axes.barh(
            at, score - mean, left=mean, height=0.4, color=COLOURS[kind] if kind == "pass" else "none",
            edgecolor=COLOURS[kind], hatch=HATCHES[kind], zorder=2, label=f"null {name}",
        )  # fmt: skip
        axes.plot([mean, mean], [at - 0.34, at + 0.34], color=RED, linewidth=2, zorder=4)
        for part, width in (("ci", 0.8), ("ci95", 2.4)):
            if null[part] is not None:
                ends = [mean + end for end in null[part]]
                axes.plot(ends, [at + 0.42] * 2, color="black", linewidth=width, solid_capstyle="butt", zorder=3)
    axes.axvline(score, color=SCORE, linewidth=1.5, zorder=3)
    for value in (result["floor"], ceiling):
        axes.axvline(value, color="0.4", linewidth=0.9, linestyle=":", zorder=0)
    axes.set_yticks(range(len(nulls)), [f"{name}  {number(null['delta'], 3)}" for name, null in nulls.items()])
    axes.set_ylim(len(nulls) - 0.4, -0.6)
    axes.tick_params(labelsize=8, left=False)
    axes.set_xlabel(result["measure"], fontsize=8)
    title = f"{result['run']}, {result['measure']}: {number(score)}, {result['verdict']}"
    axes.set_title(title.replace("$", r"\$"), fontsize=9, loc="left")  # a dollar begins mathematics
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)

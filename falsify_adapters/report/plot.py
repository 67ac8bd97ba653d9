"""The page's picture of the gate for a paper: a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from falsify_adapters.errors import NotInstalledError
from falsify_adapters.report.html_figure import WORDS, keys_of, scale_of
from falsify_adapters.report.safe import number
from falsify_adapters.report.text import shown_verdict

WIDTH, ROW, HEAD, FOOT = 6.3, 0.36, 0.95, 0.3  # inches: a page's text, a null, what stands around them, the legend
SCORE, PASS, FAIL, OPEN, RED, GREY, SOFT = "#0b57a4", "#00735c", "#b3381a", "#7a5a00", "#d0021b", "#b4bac2", "#565b62"
COLOURS = {"pass": PASS, "fail": FAIL, "under-ns": OPEN, "toothless": SOFT}
STYLES = {"pass": "-", "fail": "-", "under-ns": "--", "toothless": ":"}  # verdicts that differ without colour, too
BAR, ZONE = 0.34, 0.54  # heights, in rows


def plot_gate(report: Mapping[str, Any]) -> Any:
    """A `matplotlib.figure.Figure` with one panel per result of a gate report, see `plot_result`.

    The figure belongs to no window: save it with `figure.savefig`. Raises NotInstalledError without matplotlib.
    """
    results = report["results"]
    figure, panels = strip([len(result["nulls"]) + _ties(result) for result in results])
    for axes, result in zip(panels, results, strict=True):
        _panel(axes, result, report["settings"])
    _legend(figure, report["settings"])
    return figure


def plot_result(result: Mapping[str, Any], settings: Mapping[str, Any], axes: Any = None) -> Any:
    """One result of a gate report, into the axes given, or into a figure of its own. The figure.

    Each null is a row: the score as a bar, pale as far as the null reaches and filled beyond it where the null is
    beaten; the null as a red line; grey, the first tau above it; below, the 95 % interval (thick) and that of the
    verdict (thin), where the score would lie. Floor and ceiling are dotted, the ceiling where it lies on the scale.
    A last row holds the scores that any order of tied documents gives. Raises NotInstalledError without matplotlib.
    """
    if axes is not None:
        _panel(axes, result, settings)
        return axes.get_figure()
    figure, (panel,) = strip([len(result["nulls"]) + _ties(result)])
    _panel(panel, result, settings)
    _legend(figure, settings)
    return figure


def strip(rows: Sequence[int]) -> tuple[Any, Sequence[Any]]:
    """A figure of no window, and its panels, one below the other, each with so many rows.

    Raises NotInstalledError without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise NotInstalledError(
            "plots need the package matplotlib", mend="pip install 'falsify-adapters[plot]', or save the HTML page."
        ) from None
    heights = [HEAD + ROW * n for n in rows]
    figure = Figure(figsize=(WIDTH, sum(heights) + FOOT), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0].tolist()


def stripped(axes: Any, names: Sequence[str], label: str, title: str) -> None:
    """The rows' names at the left, from the top; what is measured below; no frame."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(labelsize=8, left=False)
    axes.tick_params(axis="y", labelsize=7)
    axes.set_xlabel(label, fontsize=8)
    axes.set_title(title, fontsize=9, loc="left")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def plain(text: str) -> str:
    """Text in which a dollar begins no mathematics."""
    return text.replace("$", r"\$")


def _legend(figure: Any, settings: Mapping[str, Any]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    signs = [
        Line2D([], [], color=SCORE, linewidth=1.2, label="score"),
        Line2D([], [], color=RED, linewidth=2, label="null"),
        Patch(facecolor=GREY, label=f"null to null + {settings['tau']:g}"),
        Line2D([], [], color="black", linewidth=2.4, label="95 %"),
        Line2D([], [], color="black", linewidth=0.8, label="deciding interval"),
        Line2D([], [], color="0.4", linewidth=0.9, linestyle=":", label="floor, ceiling"),
    ]
    figure.legend(
        handles=signs, loc="outside lower center", ncols=len(signs), fontsize=7, frameon=False, handlelength=1.2
    )


def _ties(result: Mapping[str, Any]) -> bool:
    return bool(result["tied_queries"]) and result["tie_span"] is not None


def _panel(axes: Any, result: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    score, ceiling, tau = result["score"], result["ceiling"], settings["tau"]
    low, high, whole = scale_of(result, tau)
    names = []
    for at, key in enumerate(keys_of(result)):
        null, kind = result["nulls"][key], shown_verdict(result, settings, key)
        mean, look = null["mean"], {"edgecolor": COLOURS[kind], "linestyle": STYLES[kind]}
        axes.barh(at, tau, left=mean, height=ZONE, color=GREY, zorder=1, gid="tau")
        axes.barh(at, score, height=BAR, facecolor=f"{COLOURS[kind]}48", zorder=2, gid="score", **look)
        if score > mean and kind == "pass":
            axes.barh(at, score - mean, left=mean, height=BAR, facecolor=COLOURS[kind], zorder=2, gid="gap", **look)
        axes.plot([mean + tau] * 2, [at - ZONE / 2, at + ZONE / 2], color="black", linewidth=0.7, zorder=3)
        axes.plot([mean, mean], [at - 0.34, at + 0.46], color=RED, linewidth=2, zorder=5, gid="null")
        for part, width in (("ci", 0.8), ("ci95", 2.4)):
            if null[part] is not None:
                ends = [mean + end for end in null[part]]
                axes.plot(
                    ends, [at + 0.4] * 2, color="black", linewidth=width, solid_capstyle="butt", zorder=4, gid=part
                )
        names.append(f"{plain(key)}  {number(null['delta'], 3)}\n{WORDS[kind]}")
    if _ties(result):
        axes.plot(
            result["tie_span"],
            [len(names)] * 2,
            color="black",
            linewidth=3,
            marker="|",
            markersize=9,
            zorder=6,
            gid="ties",
        )
        names.append("tied documents,\nany order")
    axes.axvline(score, color=SCORE, linewidth=1.2, zorder=3)
    for value in (result["floor"], ceiling if whole else None):
        if value is not None:
            axes.axvline(value, color="0.4", linewidth=0.9, linestyle=":", zorder=0)
    axes.set_xlim(low, high + 0.01 * (high - low))
    run, measure = plain(result["run"]), plain(result["measure"])
    stripped(axes, names, measure, f"{run}, {measure}: {number(score)}, {result['verdict']}")

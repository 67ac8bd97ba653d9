"""The comparison as the body of an HTML page: the table, then the gate's page of all runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falsify_adapters.report import html_gate
from falsify_adapters.report.compare_text import better_than, gates, joined_letters, legend, score
from falsify_adapters.report.html import table, verdict
from falsify_adapters.report.markup import Child, Markup, el
from falsify_adapters.report.safe import p_value

PAIRS = 500  # rows of the table of pairs; with more of them it is in the JSON alone


def content(report: Mapping[str, Any]) -> tuple[str, list[Child]]:
    """The page's title, and what its body holds."""
    soft = [el("p", text, class_="soft") for text in legend(report)]
    section = el("section", el("h2", "Side by side"), _table(report), soft, _pairs(report))
    _, body = html_gate.content(report["gate"], first=section)
    return f"{len(report['runs'])} runs compared", body


def _table(report: Mapping[str, Any]) -> Markup:
    measures, each = report["measures"], report["settings"]["gate_column"] == "each"
    heads = ["model", "#"]
    for measure in measures:
        heads += [measure, "gate"] if each else [measure]
    heads += [] if each else ["gate"]
    lines = []
    for run in report["runs"]:
        name = run["run"]
        words: list[Child] = [[verdict(word), f" {why}" if why else None] for word, why in gates(report, name)]
        cells: list[Child] = [name, run["letter"]]
        for at, measure in enumerate(measures):
            beaten = better_than(report, name, measure)
            title = f"significantly better than {', '.join(beaten)}"
            raised = el("sup", joined_letters(report, beaten), title=title) if beaten else None
            cells.append([score(report, name, measure), raised])
            cells += [words[at]] if each else []
        lines.append([*cells, *([] if each else words)])
    wordy = [0, 1, *(at for at, head in enumerate(heads) if head == "gate")]
    return table("Scores; raised letters name the runs that are significantly worse", heads, lines, words=wordy)


def _pairs(report: Mapping[str, Any]) -> Markup | None:
    """Every comparison: difference, p, and in how many queries which run scores higher."""
    rows = report["comparisons"]
    if not 0 < len(rows) <= PAIRS:
        return None
    holm = report["settings"]["correction"] == "holm"
    heads = ["runs", "measure", "difference", "p", *(["p after Holm"] if holm else []), "win", "tie", "loss"]
    lines = []
    for row in rows:
        p = [p_value(row[key]) for key in ("p", "p_adjusted")[: 1 + holm]]
        wins = [str(row[key]) for key in ("win", "tie", "loss")]
        lines.append([f"{row['a']}, {row['b']}", row["measure"], f"{row['delta']:+.4f}", *p, *wins])
    inner = table("The first run against the second; wins in queries", heads, lines, words=(0, 1))
    return el("details", el("summary", "Every pair"), inner)

"""The comparison as the body of an HTML page: the table, then the gate's page of all runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falsify_adapters.report import html_gate
from falsify_adapters.report.compare_text import better_than, gate_word, legend, rows_of, score
from falsify_adapters.report.html import table, verdict
from falsify_adapters.report.markup import Child, Markup, el


def content(report: Mapping[str, Any]) -> tuple[str, list[Child]]:
    """The page's title, and what its body holds."""
    _, (head, main, *rest) = html_gate.content(report["gate"])
    section = el(
        "section", el("h2", "Side by side"), _table(report), [el("p", text, class_="soft") for text in legend(report)]
    )
    return f"{len(report['runs'])} runs compared", [head, section, main, *rest]


def _table(report: Mapping[str, Any]) -> Markup:
    measures, by_run = report["measures"], rows_of(report)
    heads = ["model", "#", *measures, "gate"]
    lines = []
    for run in report["runs"]:
        name = run["run"]
        cells: list[Child] = []
        for measure in measures:
            beaten = ", ".join(better_than(report, name, measure))
            raised = el("sup", beaten, title=f"significantly better than {beaten}") if beaten else None
            cells.append([score(report, name, measure), raised])
        word, why = gate_word([by_run[name][measure] for measure in measures])
        lines.append([name, run["letter"], *cells, [verdict(word), f" {why}" if why else None]])
    return table("Scores; raised letters name the runs that are significantly worse", heads, lines,
                 words=(0, 1, len(heads) - 1))  # fmt: skip

"""An audit of published results as text: findings, tasks by room, what lies below chance, models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from falsify_adapters.report.page import Page
from falsify_adapters.report.safe import count, number
from falsify_adapters.report.tables import Column, Row, aligned

WORDS = {"below_chance": "below chance", "indistinguishable": "as random", "above": "above", "unknown": "unknown"}
SHOWN = 12  # tasks at either end, scores below chance, reasons


def render_audit(report: Mapping[str, Any], *, width: int, color: bool, ascii_only: bool) -> str:
    """The report (schema falsify-adapters.audit/1) as text, ending in a newline; arguments as for `render_gate`."""
    page = Page(width, color, ascii_only)
    found, settings, tasks = report["findings"], report["settings"], report["tasks"]
    rows = sum(found.values())
    page.line(f"Audit: {count(report['files'], 'file')}, {count(rows, 'score')}")
    told = ", ".join(f"{n} {WORDS[name]}" for name, n in found.items())
    page.prose(f"findings  {told}", 10)
    page.prose(f"stats     {page.safe(settings['stats'] or 'none')}", 10)
    page.prose(f"random    {page.safe(settings['random_model'] or 'no model')}; tau {settings['tau']:g}", 10)
    if tasks:
        page.blank()
        page.line("Tasks with the least room between floor and ceiling", style="bold")
        page.lines(_tasks(page, tasks))
    below = [row for row in report.get("results", ()) if row["finding"] == "below_chance"]
    if below:
        page.blank()
        page.line("Below chance: look for a broken pipeline", style="bold")
        page.lines(_below(page, below))
    page.blank()
    page.line("Models", style="bold")
    page.lines(_models(page, report["models"]))
    why = _reasons(report.get("results", ()))
    if why:
        page.blank()
        page.line("Unknown, and why", style="bold")
        for reason, n in why[:SHOWN]:
            page.prose(page.safe(reason), 7, f"{n:>5}")
    return page.text()


def _tasks(page: Page, tasks: Sequence[Mapping[str, Any]]) -> list[Text]:
    heads = [Column("task")]
    heads += [
        Column(name, right=True) for name in ("floor", "ceiling", "room", "systems", "below", "as random", "best")
    ]
    known = [task for task in tasks if task["room"] is not None][::-1]
    lines: list[Row] = []
    for task in known[: 2 * SHOWN]:
        low, high = task["floor"]
        floor = number(high, 3) if high - low < 0.0005 else f"{number(low, 2)}-{number(high, 2)}"
        cells = [floor, number(task["ceiling"], 2), number(task["room"], 3), str(task["systems"])]
        cells += [str(task["below_chance"]), str(task["indistinguishable"]), number(task["best"], 3)]
        lines.append([page.safe(_name(task, 26)), *cells])
    if len(tasks) > len(lines):
        lines.append(Text(f"... {len(tasks) - len(lines)} more ...", style="dim"))
    return aligned(heads, lines, gap=1)


def _name(task: Mapping[str, Any], most: int) -> str:
    name = str(task["task"])
    where = "" if task["subset"] in ("default", "") else f" {task['subset']}"
    where = where or ("" if task["split"] in ("test", "dev") else f" {task['split']}")
    whole = name + where
    return whole if len(whole) <= most else name[: most - len(where) - 2] + ".." + where


def _below(page: Page, rows: Sequence[Mapping[str, Any]]) -> list[Text]:
    lines: list[Row] = []
    for row in sorted(rows, key=lambda r: (r["score"] - r["floor"][0], r["path"], r["subset"]))[:SHOWN]:
        floor = f"{number(row['floor'][0], 3)}"
        lines.append([page.safe(row["model"]), page.safe(_name(row, 30)), number(row["score"], 3), floor])
    heads = [Column("model"), Column("task"), Column("score", right=True), Column("floor", right=True)]
    if len(rows) > SHOWN:
        lines.append(Text(f"... {len(rows) - SHOWN} more ...", style="dim"))
    return aligned(heads, lines, gap=1)


def _models(page: Page, models: Sequence[Mapping[str, Any]]) -> list[Text]:
    heads = [Column("model")]
    heads += [Column(name, right=True) for name in ("scores", *WORDS.values(), "headroom used")]
    order = sorted(models, key=lambda m: (-m["below_chance"], -m["indistinguishable"] / m["rows"], m["model"]))
    lines: list[Row] = []
    for model in order[: 2 * SHOWN]:
        name = model["model"] or "(no folder)"
        name = name if len(name) <= 28 else name[:26] + ".."
        cells = [str(model["rows"]), *(str(model[key]) for key in WORDS), number(model["headroom_used"], 2)]
        lines.append([page.safe(name), *cells])
    if len(models) > 2 * SHOWN:
        lines.append(Text(f"... {len(models) - 2 * SHOWN} more ...", style="dim"))
    return aligned(heads, lines, gap=1)


def _reasons(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for row in rows:
        if row["finding"] == "unknown":
            found[row["why"]] = found.get(row["why"], 0) + 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))

"""An audit of published results as the body of an HTML page: strips of dots by task, and a table to sort and filter.

The page works without its script; with it, columns can be sorted and rows filtered. Nothing is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from falsify_adapters.report.html import facts, table
from falsify_adapters.report.markup import Child, Markup, el, join
from falsify_adapters.report.safe import count, number, short

KIND = {"below_chance": "fail", "indistinguishable": "open", "above": "pass", "unknown": "soft"}
WORDS = {"below_chance": "below chance", "indistinguishable": "as random", "above": "above", "unknown": "unknown"}
STRIPS, ROWS = 60, 5000  # at most: a page of all of MTEB has to open
WIDE = 46  # pixels of a strip

SCRIPT = """
(() => {
  const table = document.querySelector('#scores table'), box = document.querySelector('#filter');
  if (!table || !box) return;
  const body = table.tBodies[0], rows = [...body.rows], note = document.querySelector('#shown');
  document.querySelector('#tools').hidden = false;
  const kinds = document.querySelector('#kind');
  const filter = () => {
    const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = words.every(w => text.includes(w)) && (!kinds.value || row.cells[6].textContent === kinds.value);
      row.hidden = !fits;
      shown += fits;
    }
    note.textContent = `${shown} of ${rows.length} rows`;
  };
  box.addEventListener('input', filter);
  kinds.addEventListener('change', filter);
  const key = cell => { const n = parseFloat(cell.textContent); return isNaN(n) ? cell.textContent : n; };
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    const button = document.createElement('button');
    button.textContent = head.textContent;
    head.replaceChildren(button);
    let up = false;
    button.addEventListener('click', () => {
      up = !up;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      rows.sort((a, b) => {
        const [x, y] = [key(a.cells[at]), key(b.cells[at])];
        return (typeof x === typeof y ? (x > y) - (x < y) : typeof x === 'number' ? -1 : 1) * (up ? 1 : -1);
      });
      body.append(...rows);
    });
  });
  filter();
})();
"""


def content(report: Mapping[str, Any]) -> tuple[str, list[Child]]:
    """The page's title, and what its body holds."""
    found, settings = report["findings"], report["settings"]
    told = ", ".join(f"{n} {WORDS[name]}" for name, n in found.items())
    head = el(
        "header",
        el("h1", "Published scores against chance"),
        el("p", f"{count(sum(found.values()), 'score')} of {count(report['files'], 'file')}: {told}."),
        el("p", f"{settings['path']}; statistics: {settings['stats'] or 'none'}; random model: "
           f"{settings['random_model'] or 'none'}; tau {settings['tau']:g}.", class_="soft"),
    )  # fmt: skip
    main = el("main", _strips(report), _scores(report), _models(report), _settings(settings))
    return "Published scores against chance", [head, main, el("script", Markup(SCRIPT))]


def _strips(report: Mapping[str, Any]) -> Markup | None:
    by_task: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in report["results"]:
        if row["floor"] is not None:
            by_task.setdefault((row["task"], row["split"], row["subset"], row["measure"]), []).append(row)
    # Several systems, least room first: that is where a leaderboard says least.
    tasks = [task for task in report["tasks"][::-1] if task["systems"] > 1 and task["room"] is not None]
    if not tasks:
        return None
    blocks: list[Markup] = []
    for task in tasks[:STRIPS]:
        rows = by_task[task["task"], task["split"], task["subset"], task["measure"]]
        blocks.append(_strip(task, rows, len(blocks)))
    more = f" The {STRIPS} with the least room of {len(tasks)}." if len(tasks) > STRIPS else ""
    said = (
        "One dot a system, from 0 to 1. Grey: what random order scores, and tau above it; right line: the ceiling. "
        f"Dots that lie below chance are crosses.{more}"
    )
    return el("section", el("h2", "Tasks, least room first"), el("p", said, class_="soft"), join(blocks, "\n"))


def _strip(task: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], n: int) -> Markup:
    low, high = task["floor"]
    name = " ".join(part for part in (task["task"], task["split"], task["subset"]) if part not in ("default", ""))
    shapes: list[Child] = [
        el("rect", x=_at(low), y=8, width=f"{100 * max(high - low, 0.002):.3f}%", height=24, class_="floor-zone"),
        el("line", x1=_at(task["ceiling"]), x2=_at(task["ceiling"]), y1=4, y2=36, class_="mark ceiling"),
        el("line", x1="0", x2="100%", y1=20, y2=20, class_="axis"),
    ]
    for row in sorted(rows, key=lambda r: (r["score"], r["model"], r["revision"])):
        x, label = _at(row["score"]), el("title", f"{row['model']}: {number(row['score'])}, {WORDS[row['finding']]}")
        kind = f"system {KIND[row['finding']]}"
        if row["finding"] == "below_chance":
            box = el("svg", el("path", d="M-5 -5L5 5M-5 5L5 -5", class_=kind), x=x, y=20, overflow="visible")
            shapes.append(el("g", box, label))
        else:
            shapes.append(el("circle", label, cx=x, cy=20, r=4, class_=kind))
    counted = [f"{task[key]} {WORDS[key]}" for key in WORDS if task[key]]
    floor = short(high) if high - low < 0.0005 else f"{short(low)} to {short(high)}"
    said = f"floor {floor}, room {number(task['room'], 3)}; {', '.join(counted)}"
    picture = el(
        "svg", el("title", f"{name}, {task['measure']}", id=f"strip-{n}-title"), el("desc", said, id=f"strip-{n}-desc"),
        shapes, role="img", aria_labelledby=f"strip-{n}-title strip-{n}-desc", width="100%", height=WIDE,
        xmlns="http://www.w3.org/2000/svg",
    )  # fmt: skip
    caption = el("figcaption", el("strong", f"{name}, {task['measure']}"), f": {said}")
    return el("figure", caption, picture, class_="strip")


def _at(value: float) -> str:
    return f"{100 * min(max(value, 0.0), 1.0):.3f}%"


def _scores(report: Mapping[str, Any]) -> Markup:
    heads = ("model", "revision", "task", "measure", "score", "floor", "finding", "headroom used", "why")
    order = {"below_chance": 0, "unknown": 1, "indistinguishable": 2, "above": 3}
    rows = sorted(report["results"], key=lambda r: (order[r["finding"]], r["task"], r["model"], r["path"], r["subset"]))
    lines: list[list[Child]] = []
    for row in rows[:ROWS]:
        name = " ".join(part for part in (row["task"], row["split"], row["subset"]) if part not in ("default", ""))
        floor = "-" if row["floor"] is None else short(row["floor"][1])
        word = el("span", WORDS[row["finding"]], class_=f"verdict {KIND[row['finding']]}")
        cells = [number(row["score"]), floor, word, number(row["headroom_used"], 2)]
        lines.append([row["model"], row["revision"][:12], name, row["measure"], *cells, row["why"]])
    tools = el(
        "p",
        el("label", "Filter ", el("input", id="filter", type="search", size="24")),
        " ",
        el("label", "Finding ", el("select", el("option", "all", value=""), [el("option", w) for w in WORDS.values()],
                                   id="kind")),
        " ",
        el("span", id="shown", role="status"),
        id="tools", hidden=True,
    )  # fmt: skip
    more = el("p", f"The first {ROWS} of {len(rows)} rows.", class_="soft") if len(rows) > ROWS else None
    listed = table("Every score; findings first", heads, lines, words=(0, 1, 2, 3, 6, 8), name="names")
    return el("section", el("h2", "Scores"), tools, more, el("div", listed, id="scores"))


def _models(report: Mapping[str, Any]) -> Markup:
    heads = ("model", "revision", "scores", *WORDS.values(), "headroom used")
    lines = [
        [m["model"], m["revision"][:12], str(m["rows"]), *(str(m[key]) for key in WORDS), number(m["headroom_used"], 2)]
        for m in sorted(report["models"], key=lambda m: (-(m["headroom_used"] or 0.0), m["model"]))
    ]
    return el("section", el("h2", "Models"), table("Findings by model", heads, lines, words=(0, 1), name="names"))


def _settings(settings: Mapping[str, Any]) -> Markup:
    pairs = [(el("code", key), json.dumps(value)) for key, value in settings.items()]
    return el("section", el("h2", "Settings"), facts("Settings", pairs))

"""Reports as a table for Markdown and for LaTeX: a verdict, one line per result, what it rests on, the notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from falsify_adapters.report.advice import next_steps
from falsify_adapters.report.compare_text import better_than, gates, joined_letters, legend, score
from falsify_adapters.report.floor_advice import MADE, overall
from falsify_adapters.report.page import Notes
from falsify_adapters.report.render import COMPARE, FLOOR, GATE, POWER
from falsify_adapters.report.safe import number, short, visible
from falsify_adapters.report.text import NAMES

Table = tuple[list[str], list[list[str]], int]  # heads, lines, how many columns hold words
Escape = Callable[[str], str]

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
}  # fmt: skip


def to_markdown(report: Mapping[str, Any]) -> str:
    """A heading with the verdict, a pipe table (GitHub's), the advice for what did not pass, and the notes."""
    heads, lines, words = _table(report)
    rule = ["---"] * words + ["---:"] * (len(heads) - words)
    out = [f"### {markdown(_title(report))}", "", _pipes(map(markdown, heads)), _pipes(rule)]
    out += [_pipes(map(markdown, line)) for line in lines]
    for name, steps in _advice(report):
        out += ["", (f"**{markdown(name)}** " if name else "") + " ".join(map(markdown, steps))]
    notes = Notes.of(report.get("gate", report)["results"])
    if notes.messages:
        out += ["", "<details><summary>Notes</summary>", ""]
        out += [f"- `{code}`: {markdown(said[0])}" for code, said in notes.messages.items()]
        out += ["", "</details>"]
    return "\n".join(out) + "\n"


def to_latex(report: Mapping[str, Any]) -> str:
    """A `table` environment for the package booktabs, the verdict in its caption. All in ASCII, so that any engine sets
    it; gaps without their intervals, so that it fits a page."""
    if report["schema"].startswith(COMPARE):
        from falsify_adapters.report.compare_latex import compare_to_latex

        return compare_to_latex(report)
    heads, lines, words = _table(report, intervals=False)
    columns = "l" * words + "r" * (len(heads) - words)
    caption = latex(_title(report) + _explained(report))
    cells = [[*map(latex, line[:words]), *map(_latex_number, line[words:])] for line in lines]
    out = [
        "% needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc} and \\usepackage{textcomp}",
        "\\begin{table}", "\\centering", f"\\caption{{{caption}}}", f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule", _ampersands(map(latex, heads)), "\\midrule", *map(_ampersands, cells),
        "\\bottomrule", "\\end{tabular}", "\\end{table}",
    ]  # fmt: skip
    return "\n".join(out) + "\n"


def markdown(text: str) -> str:
    """Text that shows as itself: nothing in it is markup, HTML, the end of a cell, or what GitHub makes of bare text
    (links, :emoji:, formulas)."""
    escaped = re.sub(r"([\\`*_{}\[\]<>()#+!|~&@$])", r"\\\1", visible(text)).replace("://", ":\\//")
    return re.sub(
        r"(?<=www)\.|:(?=[\w\\+-]+:)", r"\\\g<0>", escaped
    )  # links and :emoji: that GitHub makes of bare text


def latex(text: str) -> str:
    """Text that shows as itself; what is not ASCII is written as an escape, so that any engine sets it."""
    plain = "".join(_LATEX.get(char, char) for char in visible(text, ascii_only=True))
    plain = re.sub(r"([-,])(?=\1)", r"\1{}", plain)  # two of them are a ligature
    return "{}" + plain if plain.startswith(("[", "*")) else plain  # else an argument of the \\ or the rule before it


def _latex_number(text: str) -> str:
    return "--" if text == "-" else re.sub(r"(?<![\w.])-(?=\d)", "$-$", latex(text))


def _explained(report: Mapping[str, Any]) -> str:
    """What the columns of nulls mean, for those who read the table without the text around it."""
    if not report["schema"].startswith(GATE):
        return ""
    tau = report["settings"]["tau"]
    names = ", ".join(f"{null} {name}" for null, name in NAMES.items() if null in report["results"][0]["nulls"])
    return f". Gap: the score minus what each null expects ({names}); a pass needs at least {tau:g} on each."


def _pipes(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: Any) -> str:
    return " & ".join(cells) + r" \\"


def _title(report: Mapping[str, Any]) -> str:
    if report["schema"].startswith(COMPARE):
        return f"{len(report['runs'])} runs compared. {_title(report['gate'])}"
    results = report["results"]
    if report["schema"].startswith(FLOOR):
        return f"Noise floor: {overall(results) or 'no check asked for'}"
    if report["schema"].startswith(POWER):
        return f"What {report['qrels']['queries']} queries can certify"
    verdicts = [result["verdict"] for result in results]
    return "Four-null gate: " + next(v for v in ("FAIL", "UNDER-NS", "PASS") if v in verdicts)


def _table(report: Mapping[str, Any], *, intervals: bool = True) -> Table:
    if report["schema"].startswith(COMPARE):
        return _compared(report)
    results = report["results"]
    if report["schema"].startswith(FLOOR):
        return _floor(results)
    if report["schema"].startswith(POWER):
        heads = ["measure", "floor", "ceiling", "least score", "gap", "coin toss"]
        keys = ("floor", "ceiling", "least_score", "gap", "coin_toss")
        return heads, [[row["measure"], *(short(row[key]) for key in keys)] for row in results], 1
    return _gate(results, intervals=intervals)


def _compared(report: Mapping[str, Any]) -> Table:
    measures, each = report["measures"], report["settings"]["gate_column"] == "each"
    lines = []
    for run in report["runs"]:
        name = run["run"]
        beaten = [joined_letters(report, better_than(report, name, m)) for m in measures]
        scores = [score(report, name, m) + (f" ({b})" if b else "") for m, b in zip(measures, beaten, strict=True)]
        lines.append([run["letter"], name, *(" ".join(words).strip() for words in gates(report, name)), *scores])
    columns = [f"gate of {m}" for m in measures] if each else ["gate"]
    return ["#", "model", *columns, *measures], lines, 2 + len(columns)


def _gate(results: Sequence[Mapping[str, Any]], *, intervals: bool) -> Table:
    nulls = list(dict.fromkeys(name for result in results for name in result["nulls"]))
    heads = ["run", "measure", "verdict", "score", "floor", "ceiling", *(f"gap to {name}" for name in nulls)]
    lines = []
    for result in results:
        gaps = [_gap(result["nulls"].get(name), interval=intervals) for name in nulls]
        numbers = [number(result["score"]), short(result["floor"]), number(result["ceiling"])]
        lines.append([result["run"], result["measure"], result["verdict"], *numbers, *gaps])
    return heads, lines, 3


def _gap(null: Mapping[str, Any] | None, *, interval: bool) -> str:
    if null is None:
        return "-"
    around = "" if null["ci95"] is None or not interval else f" [{number(null['ci95'][0])}, {number(null['ci95'][1])}]"
    return number(null["delta"]) + around


def _floor(results: Sequence[Mapping[str, Any]]) -> Table:
    made = [name for name in MADE if any(row.get(name) is not None for row in results)]
    names = {"check1": "check 1", "check2": "check 2", "noise_overlap": "overlap", "harness": "harness"}
    heads = ["measure", *(names[name] for name in made), "N", "floor", "sd", "ceiling", "headroom"]
    lines = []
    for row in results:
        verdicts = ["-" if row.get(name) is None else row[name]["verdict"] for name in made]
        n = "-" if row["pool"]["n"] is None else str(row["pool"]["n"])
        numbers = [short(row["expected"]), short(row["sd"]), number(row["ceiling"]), number(row["headroom"])]
        lines.append([row["measure"], *verdicts, n, *numbers])
    return heads, lines, 1 + len(made)


def _advice(report: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    if report["schema"].startswith((FLOOR, POWER)):
        return []
    if report["schema"].startswith(COMPARE):
        return [("", legend(report))]
    named = ((f"{r['run']}, {r['measure']}:", next_steps(r, report["settings"])) for r in report["results"])
    return [(name, steps) for name, steps in named if steps]

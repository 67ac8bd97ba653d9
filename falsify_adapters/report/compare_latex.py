"""The comparison for LaTeX as ranx sets it: superscripts, the best score of each measure in bold, and the gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falsify_adapters.report.compare_text import better_than, gates, joined_letters, legend, score
from falsify_adapters.report.markup_tables import latex


def compare_to_latex(report: Mapping[str, Any]) -> str:
    """A `table*` environment for the packages booktabs and graphicx, as wide as the text at most, all in ASCII."""
    measures, runs = report["measures"], report["runs"]
    each = report["settings"]["gate_column"] == "each"
    best = {m: max(scores[m] for scores in report["scores"].values()) for m in measures}
    heads, columns = ["\\#", "Model"], "c|l"
    for measure in measures:
        heads += [latex(measure), *(["Gate"] if each else [])]
        columns += "|ll" if each else "|l"
    heads += [] if each else ["Gate"]
    columns += "" if each else "|l"
    lines = []
    for run in runs:
        name = run["run"]
        words = [latex(" ".join(pair).strip()) for pair in gates(report, name)]
        cells = [run["letter"], latex(name)]
        for at, measure in enumerate(measures):
            cells += [_score(report, name, measure, best[measure]), *([words[at]] if each else [])]
        lines.append([*cells, *([] if each else words)])
    caption = " ".join(["Overall effectiveness of the models; the best scores are in bold.", *legend(report)])
    out = [
        "% needs \\usepackage{booktabs,graphicx} and \\usepackage[T1]{fontenc} and \\usepackage{textcomp}",
        "\\begin{table*}[ht]", "\\centering", f"\\caption{{{latex(caption)}}}",
        "\\resizebox{\\ifdim\\width>\\textwidth\\textwidth\\else\\width\\fi}{!}{%",
        f"\\begin{{tabular}}{{{columns}}}", "\\toprule",
        " & ".join(f"\\textbf{{{head}}}" for head in heads) + r" \\", "\\midrule",
        *(" & ".join(line) + r" \\" for line in lines),
        "\\bottomrule", "\\end{tabular}}", "\\end{table*}",
    ]  # fmt: skip
    return "\n".join(out) + "\n"


def _score(report: Mapping[str, Any], run: str, measure: str, best: float) -> str:
    shown = score(report, run, measure)
    if report["scores"][run][measure] == best:
        shown = f"\\textbf{{{shown}}}"
    beaten = joined_letters(report, better_than(report, run, measure))
    return f"{shown}\\textsuperscript{{{latex(beaten)}}}" if beaten else shown

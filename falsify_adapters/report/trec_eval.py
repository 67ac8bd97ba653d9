"""The gate's report as trec_eval prints its own: name, query or `all`, value, and the gate's lines after them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from falsify_adapters.errors import OptionError
from falsify_adapters.report.render import GATE
from falsify_adapters.report.safe import number, visible

WIDTH = 22

# Our spelling -> trec_eval's, {} is the cutoff; in the order in which trec_eval prints them, whatever was asked first
# (te_trec_measures in its measures.c). Whatever is not here keeps its own name and comes last.
_NAMES = {
    r"AP": "map", r"Rprec": "Rprec", r"bpref": "bpref", r"RR": "recip_rank",
    r"IPrec@([\d.]+)": "iprec_at_recall_{:.2f}", r"P@(\d+)": "P_{:.0f}", r"R@(\d+)": "recall_{:.0f}", r"infAP": "infAP",
    r"11pt_avg": "11pt_avg", r"nDCG": "ndcg", r"nDCG@(\d+)": "ndcg_cut_{:.0f}", r"AP@(\d+)": "map_cut_{:.0f}",
    r"relative_P@(\d+)": "relative_P_{:.0f}", r"Success@(\d+)": "success_{:.0f}", r"SetP": "set_P",
    r"SetP\(relative=True\)": "set_relative_P", r"SetR": "set_recall", r"SetAP": "set_map", r"SetF": "set_F",
}  # fmt: skip

Results = Sequence[Mapping[str, Any]]


def to_trec_eval(report: Mapping[str, Any]) -> str:
    """One block per run. Per-query lines come first where the report holds the values of every query.

    Measures are in trec_eval's order, queries in that of their ids, as trec_eval has them. Counts, runid and gm_map are
    printed with `official`. Raises OptionError for another report.
    """
    report = report.get("gate", report)  # a comparison holds the gate's report
    if not report["schema"].startswith(GATE):
        raise OptionError("only the gate's report has trec_eval's lines", where="--format trec_eval")
    settings = report["settings"]
    return "".join(line for results in _runs(report["results"]) for line in _block(results, settings))


def _runs(results: Results) -> Iterator[Results]:
    """The results of each run. Dicts have neither name nor path of their own: a measure comes once in each block."""
    block: list[Mapping[str, Any]] = []
    for result in results:
        same = block and (result["run"], result["path"]) == (block[0]["run"], block[0]["path"])
        if block and not (same and all(each["measure"] != result["measure"] for each in block)):
            yield block
            block = []
        block.append(result)
    yield block


def _block(results: Results, settings: Mapping[str, Any]) -> Iterator[str]:
    rel, official, first = settings["rel"], settings["official"], results[0]
    named = [(trec_name(result["measure"], rel), result) for result in sorted(results, key=lambda r: _place(r, rel))]
    queries = first.get("per_query", ())
    for at in sorted(range(len(queries)), key=lambda at: str(queries[at]["query"])):
        query = queries[at]["query"]
        if official:
            yield from _counts(query, queries[at])
        yield from (_line(name, query, result["per_query"][at]["score"]) for name, result in named)
    if official:
        yield _text("runid", "all", first["tag"] or first["run"])
        yield _text("num_q", "all", first["queries"]["judged"])
        yield from _counts("all", first["documents"])
    for name, result in named:
        yield _line(name, "all", result["score"])
        if official and name == "map":
            yield _line("gm_map", "all", result["geometric_mean"])
    for name, result in named:
        yield _text(f"gate_{name}", "all", result["verdict"])
        yield _line(f"floor_{name}", "all", result["floor"])
        yield from (_line(f"delta_{null}_{name}", "all", found["delta"]) for null, found in result["nulls"].items())


def _counts(query: str, counted: Mapping[str, Any]) -> Iterator[str]:
    for name, key in (("num_ret", "retrieved"), ("num_rel", "relevant"), ("num_rel_ret", "relevant_retrieved")):
        yield _text(name, query, counted[key])


def _line(name: str, query: str, value: float) -> str:
    return _text(name, query, number(value))


def _text(name: str, query: str, value: object) -> str:
    return f"{visible(name):<{WIDTH}}\t{visible(query)}\t{visible(value)}\n"


def trec_name(measure: str, rel: int) -> str:
    """trec_eval's name of a measure in our spelling, where it has one; a level that is that of all is not named."""
    plain = _plain(measure, rel)
    for pattern, name in _NAMES.items():
        if found := re.fullmatch(pattern, plain):
            return name.format(*map(float, found.groups()))
    return re.sub(r"\s", "", plain)


def _plain(measure: str, rel: int) -> str:
    return measure if rel == 1 else re.sub(rf"\(rel={rel}\)|,rel={rel}(?=\))", "", measure)


def _place(result: Mapping[str, Any], rel: int) -> tuple[int, float]:
    """Where trec_eval prints it: by the family, and by the cutoff within it."""
    plain = _plain(result["measure"], rel)
    for at, pattern in enumerate(_NAMES):
        if found := re.fullmatch(pattern, plain):
            return at, float(next(iter(found.groups()), 0))
    return len(_NAMES), 0.0

"""The gate's report as trec_eval prints its own: name, query or `all`, value, and the gate's lines after them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from falsify_adapters.errors import OptionError
from falsify_adapters.report.safe import visible

WIDTH = 22

# Our spelling -> trec_eval's; {} is the cutoff. Whatever is not here keeps its own name.
_NAMES = {
    r"AP@(\d+)": "map_cut_{}", r"AP": "map", r"P@(\d+)": "P_{}", r"R@(\d+)": "recall_{}", r"RR": "recip_rank",
    r"nDCG@(\d+)": "ndcg_cut_{}", r"nDCG": "ndcg", r"Success@(\d+)": "success_{}", r"Rprec": "Rprec", r"bpref": "bpref",
    r"SetP": "set_P", r"SetR": "set_recall", r"SetF": "set_F", r"infAP": "infAP",
}  # fmt: skip


def to_trec_eval(report: Mapping[str, Any]) -> str:
    """One block per run. Per-query lines come first where the report holds the values of every query.

    Counts, runid and gm_map are printed with `official`, as trec_eval does. Raises OptionError for another report.
    """
    report = report.get("gate", report)  # a comparison holds the gate's report
    if not report["schema"].startswith("falsify-adapters.gate/"):
        raise OptionError("only the gate's report has trec_eval's lines", where="--format trec_eval")
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for result in report["results"]:
        runs.setdefault(result["path"], []).append(result)
    return "".join(line for results in runs.values() for line in _block(results, report["settings"]))


def _block(results: list[Mapping[str, Any]], settings: Mapping[str, Any]) -> Iterator[str]:
    first = results[0]
    for at, each in enumerate(first.get("per_query", ())):
        if settings["official"]:
            yield from _counts(each["query"], each, None)
        for result in results:
            yield _line(trec_name(result["measure"], settings["rel"]), each["query"], result["per_query"][at]["score"])
    if settings["official"]:
        tag = visible(first["tag"] or first["run"])
        yield f"{'runid':<{WIDTH}}\tall\t{tag}\n"
        yield from _counts("all", first["documents"], first["queries"]["judged"])
    for result in results:
        yield _line(trec_name(result["measure"], settings["rel"]), "all", result["score"])
        if settings["official"] and trec_name(result["measure"], settings["rel"]) == "map":
            yield _line("gm_map", "all", result["geometric_mean"])
    for result in results:
        name = trec_name(result["measure"], settings["rel"])
        yield f"{f'gate_{name}':<{WIDTH}}\tall\t{result['verdict']}\n"
        yield _line(f"floor_{name}", "all", result["floor"])
        for null, found in result["nulls"].items():
            yield _line(f"delta_{null}_{name}", "all", found["delta"])


def _counts(query: str, counted: Mapping[str, Any], queries: int | None) -> Iterator[str]:
    if queries is not None:
        yield f"{'num_q':<{WIDTH}}\t{query}\t{queries}\n"
    for name, key in (("num_ret", "retrieved"), ("num_rel", "relevant"), ("num_rel_ret", "relevant_retrieved")):
        yield f"{name:<{WIDTH}}\t{visible(query)}\t{counted[key]}\n"


def _line(name: str, query: str, value: float) -> str:
    return f"{name:<{WIDTH}}\t{visible(query)}\t{value:.4f}\n"


def trec_name(measure: str, rel: int) -> str:
    """trec_eval's name of a measure in our spelling, where it has one; a level that is that of all is not named."""
    plain = measure.replace(f"(rel={rel})", "") if rel != 1 else measure
    for pattern, name in _NAMES.items():
        if found := re.fullmatch(pattern, plain):
            return name.format(*found.groups())
    if found := re.fullmatch(r"IPrec@([\d.]+)", plain):
        return f"iprec_at_recall_{float(found[1]):.2f}"
    return re.sub(r"\s", "", plain)

"""A report flattened to rows of plain values: the one place, for frames, CSV, JSON Lines, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falsify_adapters.errors import NotInstalledError

Rows = list[dict[str, Any]]


def rows(report: Mapping[str, Any]) -> Rows:
    """One row per result, every row with the same columns. Raises KeyError for a schema without rows."""
    kind = report["schema"].removeprefix("falsify-adapters.").partition("/")[0]
    if kind == "audit":
        return [dict(result) for result in report["results"]]
    if kind == "compare":
        return _compared(report)
    made = [_FLAT[kind](result) for result in report["results"]]
    columns = dict.fromkeys(key for row in made for key in row)
    return [{key: row.get(key) for key in columns} for row in made]


def frame(lines: Rows, *, pandas: bool) -> Any:
    """Rows as a polars frame, or a pandas frame. Raises NotInstalledError without what pandas frames need."""
    import polars as pl

    made = pl.DataFrame(lines, infer_schema_length=None)
    if not pandas:
        return made
    try:
        return made.to_pandas()
    except ImportError as error:
        mend = "pip install pandas pyarrow, or take the polars frame."
        raise NotInstalledError(
            f"a pandas frame needs {error.name}", where="to_frame(pandas=True)", mend=mend
        ) from error


def query_rows(report: Mapping[str, Any]) -> Rows:
    """One row per run, measure and query, from a gate report with the values of every query."""
    return [
        {"run": result["run"], "measure": result["measure"], "query_id": each["query"]}
        | {key: value for key, value in each.items() if key != "query"}
        for result in report["results"]
        for each in result["per_query"]
    ]


def _compared(report: Mapping[str, Any]) -> Rows:
    """The rows of the gate with the name and the letter of the run, and the letters of those that it beats."""
    from falsify_adapters.report.compare_text import better_than

    names, n = report["runs"], len(report["measures"])
    return [
        {"letter": names[at // n]["letter"]}
        | row
        | {"run": names[at // n]["run"], "better_than": better_than(report, names[at // n]["run"], row["measure"])}
        for at, row in enumerate(rows(report["gate"]))
    ]


def _gate(result: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run": result["run"], "measure": result["measure"], "verdict": result["verdict"], "score": result["score"],
        "floor": result["floor"], "ceiling": result["ceiling"], "chance_corrected": result["chance_corrected"],
    }  # fmt: skip
    for name, null in result["nulls"].items():
        low, high = null["ci95"] or (None, None)
        row |= {
            f"null_{name}": null["mean"], f"delta_{name}": null["delta"], f"ci95_low_{name}": low,
            f"ci95_high_{name}": high, f"p_{name}": null["p"], f"verdict_{name}": null["verdict"],
        }  # fmt: skip
    return row | {
        "popularity": result["popularity"]["score"], "tied_queries": result["tied_queries"],
        "judged_at_k": result["judged_at_k"], "pool": result["pool"]["n"], "queries": result["queries"]["judged"],
        "queries_missing": result["queries"]["missing"], "backend": result["backend"],
        "queries_needed": result["queries_needed"], "flags": [flag["code"] for flag in result["flags"]],
    }  # fmt: skip


def _floor(result: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "measure": result["measure"], "pool": result["pool"]["n"], "floor": result["expected"],
        "floor_se": result["expected_se"], "sd": result["sd"], "method": result["method"],
        "ceiling": result["ceiling"], "headroom": result["headroom"],
    }  # fmt: skip
    one, two = result["check1"] or {}, result["check2"] or {}
    around, sizes = one.get("ci") or (None, None), one.get("implied_n_ci") or (None, None)
    row |= {
        "check1": one.get("verdict"), "measured": one.get("measured"), "seeds": one.get("seeds"),
        "ratio": one.get("ratio"), "ratio_low": around[0], "ratio_high": around[1], "p": one.get("p"),
        "detectable_ratio": one.get("detectable_ratio"), "implied_n": one.get("implied_n"),
        "implied_n_low": sizes[0], "implied_n_high": sizes[1],
        "fits": [f"{c['unit']}={c['n']}" for c in one.get("candidates") or () if c["fits"]],
        "check2": two.get("verdict"), "score": two.get("score"), "signal": two.get("signal"),
        "signal_over_floor": two.get("signal_over_floor"), "chance_corrected": two.get("chance_corrected"),
    }  # fmt: skip
    for name in ("noise_overlap", "harness"):
        row[name] = (result.get(name) or {}).get("verdict")
    return row | {"flags": [flag["code"] for flag in result["flags"]]}


def _power(result: Mapping[str, Any]) -> dict[str, Any]:
    row = {key: result[key] for key in ("measure", "floor", "ceiling", "least_score", "gap", "coin_toss", "false_pass")}
    return row | {f"queries_for_{need['gap']:g}": need["queries"] for need in result["queries_needed"]}


_FLAT = {"gate": _gate, "floor": _floor, "power": _power}

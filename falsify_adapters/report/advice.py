"""What to do after a FAIL or an UNDER-NS, in plain sentences, from one row of the gate's report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falsify_adapters.report.safe import count, interval, listed, number

NULLS = "ABCD"
FOR_AN_INTERVAL = 5  # queries; core.case.MIN_QUERIES, which a renderer of plain data does not import

# The first of these that was flagged explains the verdict better than the nulls do.
FROM_FLAGS = (
    ("nothing_judged", "Check that qrels and run belong together: no retrieved document is judged for its own query."),
    (
        "no_signal_in_ties",
        "Every score of a list is the same (as 32-bit floats): the run was written without scores, or the scorer never "
        "ran. The order is the tie rule's.",
    ),
    (
        "rank_contradicts_score",
        "The scores rise where the ranks say the opposite. If the ranks are right, negate the scores.",
    ),
    (
        "below_chance",
        "The score lies below chance. Look for reversed scores, ids of another collection or dropped documents first.",
    ),
    (
        "query_independent",
        "Every query gets the same list: it scores what its documents are worth to all queries together. Look for a "
        "query that never reaches the retriever.",
    ),
    (
        "cannot_pass",
        "No system could pass here: a perfect ranking is less than tau above the null. Change the benchmark, not the "
        "system: more documents in the pool, a smaller cutoff, fewer gold documents per query.",
    ),
    (
        "cannot_fail",
        "The measure has the same value for every ranking here. Use a smaller cutoff or another measure.",
    ),
)


def toothless(result: Mapping[str, Any], settings: Mapping[str, Any]) -> set[str]:
    """The nulls that say nothing here, as `null_toothless` flags them: no order could get tau under them."""
    if not any(flag["code"] == "null_toothless" for flag in result["flags"]):
        return set()
    return {
        name
        for name, null in result["nulls"].items()
        if name != "C" and null["reach"] is not None and null["reach"] < settings["tau"]
    }


def next_steps(result: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Sentences that say what the verdict rests on and what to look at next; empty for PASS."""
    if result["verdict"] == "PASS":
        return []
    codes = {flag["code"] for flag in result["flags"]}
    steps = [sentence for code, sentence in FROM_FLAGS if code in codes][:1]
    if result["verdict"] == "FAIL":
        failed = _deciding(result, settings, "fail")
        first = [_failed(result, settings, failed)] if failed else []
        return [*first, *(steps or [_cause(result, failed, _deciding(result, settings, "pass"))])]
    return [*_undecided(result, settings), *steps]


def _deciding(result: Mapping[str, Any], settings: Mapping[str, Any], verdict: str) -> list[str]:
    """The nulls with this verdict, those that say nothing left out."""
    blunt = toothless(result, settings)
    nulls = result["nulls"]
    return [name for name in NULLS if name in nulls and name not in blunt and nulls[name]["verdict"] == verdict]


def _failed(result: Mapping[str, Any], settings: Mapping[str, Any], failed: list[str]) -> str:
    gap = min(result["nulls"][null]["delta"] for null in failed)
    which = "every null" if len(failed) == len(NULLS) else f"null{'s' * (len(failed) > 1)} {listed(failed)}"
    if gap >= settings["tau"]:
        return f"Fails {which}, whatever the gap of {number(gap)} says."
    return f"Fails {which}: the smallest gap is {number(gap)}, and {settings['tau']:g} is asked for."


def _cause(result: Mapping[str, Any], failed: list[str], passed: list[str]) -> str:
    intervals = [result["nulls"][null]["ci"] for null in failed]
    if intervals and all(ci is not None and ci[0] > 0 for ci in intervals):
        return (
            "The gap is above 0 with confidence, but smaller than tau: better than chance, by less than was asked for. "
            "Where the measure leaves no room for more, choose another one, or a smaller tau, before looking at runs."
        )
    chance = result["nulls"]["C"]["ci95"]
    if "C" in failed and not passed and len(failed) > 1 and (chance is None or chance[0] <= 0):
        return (
            "The lists are no better than random documents. Check that higher scores mean better, that query and "
            "document ids match the qrels, and that nothing was dropped on the way."
        )
    if "C" in failed and (chance is None or chance[0] <= 0):
        room = None if result["ceiling"] is None else result["ceiling"] - result["floor"]
        return (
            "A random order of the pool scores about as much, so the score comes from the pool and not from the "
            f"ranking. Between floor and ceiling there is room for {number(room)}; a larger pool or a smaller "
            "cutoff leaves more."
        )
    if "A" in failed or "D" in failed:
        return (
            "The run scores about as much on other queries' gold: its answers hardly depend on the query. Compare "
            "with the popularity ranker, and look whether many queries get the same documents."
        )
    return (
        "Gold sets drawn evenly from the distinct ones score about as much. The gain comes from gold sets that many "
        "queries share."
    )


def _undecided(result: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    judged, needed = result["queries"]["judged"], result["queries_needed"]
    undecided = _deciding(result, settings, "under-ns")
    tau = f"{settings['tau']:g}"
    steps = []
    if undecided and all(result["nulls"][null]["ci"] is not None for null in undecided):
        spans = [f"{null}: {interval(result['nulls'][null]['ci'])}" for null in undecided]
        level = 100 * (1 - settings["alpha"] / len(NULLS))
        holds = "holds" if len(spans) == 1 else "each hold"
        word = "interval" if len(spans) == 1 else "intervals"
        steps.append(
            f"Too few queries to tell. The {word} that decide{'s' if len(spans) == 1 else ''} (level {level:g} %, "
            f"{'; '.join(spans)}) {holds} both 0 and {tau}."
        )
    elif judged < FOR_AN_INTERVAL:
        needs = f"at least {FOR_AN_INTERVAL} are needed"
        steps.append(f"Too few queries for an interval: {count(judged, 'query')}, and {needs}.")
    else:
        steps.append("Too few queries with gold for an interval; the note few_queries says more.")
    if needed is not None:
        steps.append(f"About {count(needed, 'query')} like these would decide it; here are {judged}.")
    steps.append("This is neither a pass nor a failure of the system.")
    return steps

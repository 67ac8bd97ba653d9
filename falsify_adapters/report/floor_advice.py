"""What a check of the noise floor means and what to do about it, in plain sentences, from one row of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from falsify_adapters.report.safe import listed, number, short

MADE = ("check1", "check2", "noise_overlap", "harness")  # the checks of a row
GROSS = 2.0  # a detectable ratio above this: the test was blind to anything but gross failure


def overall(rows: Sequence[Mapping[str, Any]]) -> str:
    """PASS, or FAIL where a check says above, below, fail or differs; nothing where none was made."""
    made = [row[name]["verdict"] for row in rows for name in MADE if row.get(name) is not None]
    return "" if not made else "PASS" if all(verdict == "pass" for verdict in made) else "FAIL"


def power_of(check: Mapping[str, Any]) -> str:
    """What Check 1 would have noticed; said with every verdict, because a pass is worth no more than that."""
    ratio = check["detectable_ratio"]
    if ratio is None and check["verdict"] != "pass":
        return (
            "No pool size would explain it: on this benchmark no N brings random order that far. Look for documents "
            "or queries that are lost or come twice, and at which lists are cut."
        )
    if ratio is None:
        return (
            "No scorer could have been noticed here, whatever it did: Check 1 says nothing about this benchmark, and "
            "Check 2 has to."
        )
    if ratio > GROSS:
        return (
            f"Only gross failure was tested: it takes {number(ratio, 2)} times the floor to be noticed in 9 of 10 "
            "tries. More noise runs would show smaller faults."
        )
    return f"{number(ratio, 2)} times the floor would have been noticed in 9 of 10 tries."


def after_check1(row: Mapping[str, Any]) -> list[str]:
    """Sentences for `above` and `below`; empty for a pass."""
    check = row["check1"]
    if check["verdict"] == "pass":
        return []
    unit = _wrong_unit(row)
    if unit:
        return [unit]
    if check["verdict"] == "above":
        return [
            "Noise scores more than chance can. Either something that does not read the vectors still ranks (BM25 in a "
            "hybrid, a reranker, a filter, a cache), or N counts more things than are scored, as chunks where files "
            "are. Switch off what is left, and test other units with --candidates."
        ]
    return [
        "Noise scores less than chance would. Usually documents are lost on the way (a filter, ids that do not match, "
        "queries that fail), the order is inverted, or N counts fewer things than are scored."
    ]


def _wrong_unit(row: Mapping[str, Any]) -> str:
    """Where the given N does not fit and a candidate does: the units mixed up, by name; else nothing."""
    candidates, n = row["check1"]["candidates"], row["pool"]["n"]
    fits = [candidate for candidate in candidates if candidate["fits"] and candidate["n"] != n]
    if not fits or n is None:
        return ""
    named = [candidate["unit"] for candidate in candidates if candidate["n"] == n]
    counted = f"N = {n} counts {named[0]}" if named else f"N = {n} does not fit"
    scored = listed([f"{candidate['unit']} (N = {candidate['n']})" for candidate in fits], "or")
    return f"The unit is wrong: {counted}, while the noise scores as it would over {scored}. Count what is scored."


def after_check2(row: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Sentences for a failed Check 2; empty for a pass."""
    check = row["check2"]
    if check["verdict"] == "pass":
        return []
    steps = []
    best = check["floor"] + check["headroom"]
    if best < settings["min_headroom"]:
        steps.append(
            f"The best list of this benchmark scores {number(best)}, so no floor leaves {settings['min_headroom']:g} "
            "above it: that is the measure's own range on these grades (ERR of grades 0 and 1 stays below 0.19). Give "
            "a --min-headroom that fits that range."
        )
    elif check["headroom"] < settings["min_headroom"]:
        steps.append(
            f"Between the floor and the best possible score lie {short(check['headroom'])}, and "
            f"{settings['min_headroom']:g} is asked for: a high score says little about the system. Change the "
            "benchmark: a larger pool, a smaller cutoff, fewer gold documents per query."
        )
    signal = check["signal"]
    if (check["score"] == 0) if signal is None else (signal < settings["min_signal"]):
        whose = "Even a perfect system" if check["assumed"] else "The system"
        times = "nothing" if signal is None else f"{number(signal, 2)} times the noise"
        steps.append(f"{whose} scores {times}, and {settings['min_signal']:g} times is asked for.")
    return steps


def after_overlap(row: Mapping[str, Any]) -> list[str]:
    """A sentence where noise runs agree more than chance allows; empty for a pass."""
    if row["noise_overlap"]["verdict"] == "pass":
        return []
    if row["check1"] is not None and row["check1"]["verdict"] == "above" and _wrong_unit(row):
        return ["With N in the wrong unit, chance looks smaller than it is: give the right N before anything else."]
    return [
        "Lists from independent random vectors cannot agree like this: something that does not read vectors is still "
        "switched on, usually BM25 or a reranker. Switch it off and run the noise again; until then Check 1 tests that "
        "part and not the floor."
    ]

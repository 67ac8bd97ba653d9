"""One published result file against chance: a row for each split, subset and measure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from falsify_adapters.audit.results import Named, Record, Unreadable, legal, named, records
from falsify_adapters.audit.stats import Known, Statistics
from falsify_adapters.core.published import (
    FAMILIES,
    LEVEL,
    Bound,
    Facts,
    ceiling_bound,
    chance_of,
    floor_bounds,
    sampling_error,
)
from falsify_adapters.core.significance import holm
from falsify_adapters.errors import FalsifyError
from falsify_adapters.measures import Measure, parse

MAIN = "main_score"
RANDOM = r"baseline.*random|random.*(baseline|encoder)"  # a model whose name says that it is a random baseline
# What MTEB takes for main scores, the usual ones before the rare: main_score itself does not say which it is.
MAIN_NAMES = (
    ("ndcg_at_10", "map_at_1000", "map", "ndcg_at_1"),
    ("ndcg_at_5", "ndcg_at_20", "mrr_at_10", "recall_at_5", "recall_at_10", "recall_at_100", "precision_at_1"),
)
SAME = 5e-7  # values are published with five or six decimals
_KEY = re.compile(r"(ndcg|map|mrr|recall|precision|hit_rate)_at_\d+|map|mrr")
_MIRACL = re.compile(r"(ndcg|recall)@(\d+)\(miracl\)", re.IGNORECASE)

Row = dict[str, Any]
Place = tuple[str, str, str, str]  # task, split, subset, measure


@dataclass(frozen=True, slots=True)
class Context:
    """What every file is judged by. measures: MTEB's or our names, main_score the default; random: the scores of the
    random model by task, split, subset and measure; random_model: its name, "" for none."""

    statistics: Statistics
    measures: tuple[str, ...] = (MAIN,)
    tau: float = 0.05
    random_model: str = ""
    random: Mapping[Place, float] = field(default_factory=dict, repr=False)


@cache
def measure_of(name: str) -> Measure | None:
    """The measure of one of MTEB's names, None where it has no floor here. MTEB's plain mrr is cut at 10."""
    if miracl := _MIRACL.fullmatch(name):
        name = f"{miracl[1].lower()}_at_{miracl[2]}"
    if not _KEY.fullmatch(name):
        return None
    try:
        found = parse("RR@10" if name == "mrr" else name)
    except FalsifyError:
        return None
    return found if found.family in FAMILIES else None


def judge(item: str, data: bytes | str, context: Context) -> list[Row]:
    """The rows of a file. data: its bytes, or why there are none. A file that cannot be read is one row that says why;
    nothing is raised for what a file holds."""
    where = named(item)
    try:
        if isinstance(data, str):
            raise Unreadable(data)
        task, found = records(data)
    except Unreadable as error:
        return [_row(item, where, "", "", "", why=str(error))]
    where = Named(where.model, where.revision, task or where.task)
    rows: list[Row] = []
    for asked in context.measures:
        group = [_judged(item, where, record, asked, context) for record in found]
        _decide(group, context)
        rows += [row for row, *_ in group]
    return rows


_Open = tuple[Row, Bound | None, int | None]  # a row, the floor it is held against, the queries


def _judged(item: str, where: Named, record: Record, asked: str, context: Context) -> _Open:
    names, why = resolve(record, asked)
    row = _row(item, where, record.split, record.subset, asked, why=why)
    if not names:
        return row, None, None
    row["score"] = record.values[names[0]]
    known = context.statistics.of(where.task, record.split, record.subset)
    facts = None if known is None else known.facts
    found = [measure for name in names if (measure := measure_of(name)) is not None]
    measures = list(dict.fromkeys(_seen_whole(measure, facts) for measure in found))
    if len(measures) == 1:
        row["measure"] = str(measures[0])
    if not 0.0 <= row["score"] <= 1.0:
        row["why"] = f"the score {row['score']:g} lies outside 0 to 1"
        return row, None, None
    return row, *_floor(row, measures, known, (where.task, record.split, record.subset), context)


def _floor(
    row: Row, measures: Sequence[Measure], known: Known | None, place: tuple[str, str, str], context: Context
) -> tuple[Bound | None, int | None]:
    """The floor by statistics, or by the random model where that says more; and the number of queries. Where the score
    may be that of several measures, the floor reaches from the lowest to the highest of theirs."""
    facts = None if known is None else known.facts
    row["doubts"] = [] if known is None else list(known.doubts)
    if len(measures) > 1:
        names = ", ".join(map(str, measures))
        row["doubts"].append(f"main_score equals {names}: the floor reaches over all of them")
    found = [_one_floor(measure, facts, place, context) for measure in measures]
    sources = {source for _, source in found}
    if None in sources:
        said = "no statistics of this task, split and subset" if known is None else "; ".join(known.doubts)
        row["why"] = f"{said}, and no result of a random model"
        return None, None
    bounds = [bound for bound, _ in found if bound is not None]
    bound = min(low for low, _ in bounds), max(high for _, high in bounds)
    row |= {"floor": list(bound), "floor_source": "statistics" if "statistics" in sources else "random_model"}
    if facts is None:
        return bound, None
    ceiling = max(bounds_of(measure, facts)[1] for measure in measures)
    row |= {"ceiling": ceiling, "queries": facts.queries, "n": facts.size.mean, "gold": facts.gold.mean}
    return bound, facts.queries


def _one_floor(
    measure: Measure, facts: Facts | None, place: tuple[str, str, str], context: Context
) -> tuple[Bound | None, str | None]:
    bound = None if facts is None else bounds_of(measure, facts)[0]
    measured = context.random.get((*place, str(measure)))
    if measured is None and facts is not None:  # a cutoff beyond every list cuts nothing: map is map_at_1000 there
        alike = [m for m in _uncut(measure, facts) if (*place, str(m)) in context.random]
        measured = context.random[*place, str(alike[0])] if alike else None
    if measured is not None:
        error = (0.0, 0.0) if facts is None else errors_of(measured, facts.queries, LEVEL)
        low, high = max(measured - error[0], 0.0), min(measured + error[1], 1.0)
        if bound is None or bound[1] - bound[0] > high - low:
            return (low, high), "random_model"
    return bound, None if bound is None else "statistics"


def _seen_whole(measure: Measure, facts: Facts | None) -> Measure:
    """Without its cutoff where no list is longer: map and map_at_1000 are one measure on candidate lists."""
    beyond = facts is not None and measure.cutoff is not None and measure.cutoff >= facts.size.most
    return replace(measure, cutoff=None) if beyond and measure.family in ("AP", "RR", "nDCG") else measure


def _uncut(measure: Measure, facts: Facts) -> list[Measure]:
    """Other cutoffs that give the same values, because no list is longer than either."""
    cutoffs = [k for k in (1000, 100, 20, 10, None) if k is None or k >= facts.size.most]
    if measure.family not in ("AP", "RR", "nDCG") or (measure.cutoff or facts.size.most) < facts.size.most:
        return []
    return [replace(measure, cutoff=k) for k in cutoffs if k != measure.cutoff]


@cache
def bounds_of(measure: Measure, facts: Facts) -> tuple[Bound, float]:
    """Floor and ceiling, each worked out once."""
    return floor_bounds(measure, facts), ceiling_bound(measure, facts)


@cache
def errors_of(mean: float, queries: int, level: float) -> Bound:
    """`sampling_error`, each worked out once."""
    return sampling_error(mean, queries, level)


def _decide(group: Sequence[_Open], context: Context) -> None:
    """The findings of one file and measure; the level of `below_chance` is Holm's over its subsets."""
    tested = [(row, bound, queries) for row, bound, queries in group if bound is not None]
    p = [
        chance_of(row["score"], bound[0], queries) if queries is not None and row["score"] < bound[0] else 1.0
        for row, bound, queries in tested
    ]
    for (row, bound, queries), adjusted in zip(tested, holm(p).tolist(), strict=True):
        low, high = bound
        score, tau = row["score"], context.tau
        row["headroom_used"] = _used(row, low, high, tau)
        far = max(abs(score - low), abs(score - high))
        error = (0.0, 0.0) if queries is None else errors_of((low + high) / 2, queries, LEVEL / len(tested))
        if adjusted <= LEVEL and score < low:
            row["finding"] = "below_chance"
        elif score > high + tau:
            row["finding"] = "above"
        elif far <= max(tau, error[0] if score < low else error[1]):
            row["finding"] = "indistinguishable"
        elif queries is None:
            row["why"] = f"{score:g} lies below the random model's {low:g}, and the number of queries is not known"
        elif score < low:
            row["why"] = f"below the floor of {low:.4f}, by less than {queries} queries can tell"
        else:
            which = next((f"; {said}" for said in row["doubts"] if said.startswith(MAIN)), "")
            row["why"] = f"the floor is only known to lie between {low:.4f} and {high:.4f}{which}"
        if row["finding"] != "unknown":
            row["why"] = ""


def _used(row: Row, low: float, high: float, tau: float) -> float | None:
    """(score - floor)/(ceiling - floor) at the middle of the floor, None where the floor is known too loosely."""
    ceiling, floor = row["ceiling"], (low + high) / 2
    if high - low > tau or ceiling is None or ceiling <= floor:
        return None
    return float((row["score"] - floor) / (ceiling - floor))


def resolve(record: Record, asked: str) -> tuple[list[str], str]:
    """The names of the value that is asked for, or none and why. main_score is the named value that equals it; where
    several do, it may be any of those that are the main score of some task."""
    if asked != MAIN:
        wanted = measure_of(asked) or _ours(asked)
        fits = [name for name in record.values if measure_of(name) == wanted] if wanted else []
        if fits:
            return fits[:1], ""
        odd = record.odd.get(asked)
        return [], f"{asked} is {odd}" if odd else f"no value of {asked}"
    if MAIN not in record.values:
        if MAIN in record.odd:
            return [], f"main_score is {record.odd[MAIN]}"
        found = [name for name in MAIN_NAMES[0][:3] if name in record.values]
        # Before main_score there were retrieval tasks with ndcg_at_10 and reranking tasks with map alone.
        return (found[:1], "") if found else ([], "no main_score, and no ndcg_at_10 or map either")
    main = record.values[MAIN]
    low, high = main - SAME, main + SAME
    alike = [name for name, value in record.values.items() if low < value < high and measure_of(name)]
    if not alike:
        return [], f"main_score {main:g} equals no named value that has a floor"
    typical = [[name for name in tier if name in alike] for tier in MAIN_NAMES]
    return next((tier for tier in typical if tier), sorted(alike)), ""


def _ours(asked: str) -> Measure | None:
    try:
        return parse(asked)
    except FalsifyError:
        return None


def _row(item: str, where: Named, split: str, subset: str, measure: str, *, why: str) -> Row:
    model, revision, task, split, subset, item = map(
        legal, (where.model, where.revision, where.task, split, subset, item)
    )
    return {
        "model": model, "revision": revision, "task": task, "split": split, "subset": subset,
        "measure": measure, "score": None, "floor": None, "floor_source": None, "ceiling": None,
        "headroom_used": None, "finding": "unknown", "why": why, "queries": None, "n": None, "gold": None,
        "doubts": [], "path": item,
    }  # fmt: skip


def random_scores(files: Iterable[tuple[str, bytes | str]], measures: Sequence[str]) -> dict[Place, float]:
    """The scores of the random model, by task, split, subset and measure; of several files the last by name counts."""
    merged: dict[tuple[str, str, str], tuple[str, dict[str, float]]] = {}
    for item, data in files:
        try:
            task, found = records(data) if isinstance(data, bytes) else (None, [])
        except Unreadable:
            continue
        for record in found:
            place = (task or named(item).task, record.split, record.subset)
            # Every value of the random model: others may have its task's main score under another name.
            values: Mapping[str, float] = record.values
            if MAIN not in measures:
                names = [name for asked in measures for name in resolve(record, asked)[0]]
                values = {name: values[name] for name in names}
            last, before = merged.get(place, ("", {}))
            merged[place] = (item, {**before, **values}) if item >= last else (last, {**values, **before})
    return {
        (*place, label): value
        for place, (_, values) in merged.items()
        for name, value in values.items()
        if (label := _label(name))
    }


@cache
def _label(name: str) -> str:
    measure = measure_of(name)
    return "" if measure is None else str(measure)

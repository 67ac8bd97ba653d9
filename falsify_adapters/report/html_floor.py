"""The report on noise floors as the body of an HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from falsify_adapters.report.floor_advice import overall
from falsify_adapters.report.floor_text import CHECKS, checks
from falsify_adapters.report.html import (
    KINDS,
    facts,
    note_links,
    note_list,
    note_numbers,
    settings,
    steps,
    table,
    verdict,
)
from falsify_adapters.report.markup import Child, Markup, el, join
from falsify_adapters.report.page import Notes
from falsify_adapters.report.picture import Picture, Scale
from falsify_adapters.report.safe import count, number, p_value, short


def content(report: Mapping[str, Any]) -> tuple[str, list[Child]]:
    """The page's title, and what its body holds."""
    rows, options, qrels = report["results"], report["settings"], report["qrels"]
    notes = Notes.of(rows)
    whole = overall(rows)
    said = "What a random order scores, and whether measured noise and scores fit it."
    about = (
        f"{qrels['path']}: {count(qrels['queries'], 'query')}, {count(qrels['judgments'], 'judgment')}, "
        f"{qrels['gold']} of them gold."
    )
    body: list[Child] = [
        el(
            "header",
            el("h1", "Noise floor: ", verdict(whole) if whole else "no check asked for"),
            el("p", said),
            el("p", about, class_="soft"),
        ),
        el(
            "main",
            _summary(rows, notes) if len(rows) > 1 else None,
            join((_section(n, row, options, notes) for n, row in enumerate(rows, 1)), "\n"),
            note_list(notes, rows),
            settings(
                report,
                [
                    ("qrels", qrels["path"], qrels["sha256"]),
                    *((file["role"], file["path"], file["sha256"]) for file in report["files"]),
                ],
            ),
        ),
    ]
    return f"Noise floor: {whole or 'no check asked for'}", body


def _summary(rows: Sequence[Mapping[str, Any]], notes: Notes) -> Markup:
    made = [name for name in CHECKS if any(row.get(name) is not None for row in rows)]
    names = {"check1": "Check 1", "check2": "Check 2", "noise_overlap": "overlap", "harness": "harness"}
    heads = ["measure", *(names[name] for name in made), "floor", "sd of a noise run", "ceiling", "headroom", "notes"]
    lines = []
    for n, row in enumerate(rows, 1):
        verdicts: list[Child] = [verdict(row[name]["verdict"]) if row.get(name) is not None else "-" for name in made]
        numbers = [short(row["expected"]), short(row["sd"]), number(row["ceiling"]), number(row["headroom"])]
        lines.append([el("a", row["measure"], href=f"#row-{n}"), *verdicts, *numbers, note_numbers(notes, row)])
    words = (*range(len(made) + 1), len(heads) - 1)
    return el("section", el("h2", "All measures"), table("Floors and checks", heads, lines, words=words))


def _section(n: int, row: Mapping[str, Any], options: Mapping[str, Any], notes: Notes) -> Markup:
    whole = overall([row])
    blocks: list[Child] = []
    pictures = {
        "check1": [_noise(f"noise-{n}", row, options), _sizes(f"sizes-{n}", row, options)],
        "check2": [_room(f"room-{n}", row, options)],
    }
    for name, (found, todo) in checks(row, options).items():
        blocks.append(el("h3", f"{CHECKS[name]} ", verdict(row[name]["verdict"])))
        blocks += [el("p", text) for text in found]
        blocks += [steps(todo), pictures.get(name)]
    return el(
        "section",
        el("h2", row["measure"], ": " if whole else None, verdict(whole) if whole else None),
        None if row["check2"] is not None else pictures["check2"],
        blocks,
        facts("Numbers of this measure", _numbers(row)),
        note_links(notes, row),
        id=f"row-{n}",
    )


def _room(name: str, row: Mapping[str, Any], options: Mapping[str, Any]) -> Markup:
    """Floor and ceiling, and with Check 2 the score against the noise."""
    floor, ceiling, check, noise = row["expected"], row["ceiling"], row["check2"], row["check1"]
    if check is not None:
        floor, ceiling = check["floor"], check["floor"] + check["headroom"]
    under = floor if check is None or check["noise"] is None else check["noise"]
    ends = [0.0, floor, ceiling]
    if check is not None:
        ends += [check["score"], under * options["min_signal"]]
    picture = Picture(Scale(0.0, max(ends)))
    picture.mark(floor, f"floor {short(floor)}", "floor")
    picture.mark(ceiling, f"ceiling {number(ceiling)}", "ceiling")
    if check is not None:
        picture.mark(
            check["score"], f"{'best possible' if check['assumed'] else 'score'} {number(check['score'])}", "score"
        )
    headroom = ceiling - floor
    enough = headroom >= options["min_headroom"]
    kind = "" if check is None else "pass" if enough else "fail"
    said = "" if check is None else ", enough" if enough else ", too little"
    y = picture.row("headroom", f"{number(headroom)}{said}", kind)
    if check is not None:
        picture.bar(floor, floor + options["min_headroom"], y - 3, 18, "zone")
    picture.bar(floor, ceiling, y, 12, f"gap {kind or 'pass'}")
    caption = "Headroom: from the floor to the ceiling."
    described = f"Floor {short(floor)}, ceiling {number(ceiling)}, headroom {number(headroom)}{said}."
    if check is not None:
        signal, over = check["signal"], "floor" if noise is None else "measured noise"
        loud = check["score"] > 0 if signal is None else signal >= options["min_signal"]
        times = f"above a {over} of 0" if signal is None else f"{number(signal, 2)} times the noise"
        finding = f"{times}, {'enough' if loud else 'too little'}"
        y = picture.row("signal", finding, "pass" if loud else "fail")
        picture.bar(0.0, under * options["min_signal"], y - 3, 18, "zone")
        picture.bar(0.0, check["score"], y, 12, f"gap {'pass' if loud else 'fail'}")
        picture.line(under, y - 5, 22, "expected")
        described += f" Score {number(check['score'])}, {finding}."
        caption += (
            f" Signal: the score over the noise. Red line: the {over}, {short(under)}. Grey: the least headroom "
            f"({options['min_headroom']:g}) and the least signal ({options['min_signal']:g} times the noise), which "
            "the bars need to reach beyond."
        )
    title = f"{row['measure']}: floor, ceiling and the room between them"
    return el("figure", picture.svg(name, title, described), el("figcaption", caption))


def _noise(name: str, row: Mapping[str, Any], options: Mapping[str, Any]) -> Markup | None:
    """The measured noise against the floor, on a scale of their own."""
    check, floor = row["check1"], row["expected"]
    if check is None or not max(floor, check["measured"]) > 0:
        return None
    level = f"{100 * (1 - options['check_alpha']):g} %"
    spread = row["sd"] / math.sqrt(check["seeds"])
    around = None if check["ci"] is None else [None if end is None else end * floor for end in check["ci"]]
    seen = None if check["detectable_ratio"] is None else check["detectable_ratio"] * floor
    runs = check["per_run"] or ()
    ends = [floor + 2 * spread, check["measured"], *runs, *(end for end in around or () if end is not None)]
    high = 1.05 * max([*ends, *([seen] if seen is not None else [])])
    picture = Picture(Scale(0.0, high))
    picture.mark(floor, f"floor {short(floor)}", "floor")
    word = check["verdict"]
    kind = KINDS.get(word, "fail")
    fits = {"pass": "fits the floor", "above": "above the floor", "below": "below the floor"}.get(word, word)
    y = picture.row("measured noise", f"{short(check['measured'])}, {fits}", kind)
    picture.bar(max(0.0, floor - spread), floor + spread, y - 3, 18, "zone")
    picture.line(floor, y - 5, 22, "expected")
    for value in runs:
        picture.dot(value, y + 6, "dot small", 4)
    picture.dot(check["measured"], y + 6, "dot", 6)
    if around is not None:
        picture.whisker(
            [0.0 if around[0] is None else around[0], high if around[1] is None else around[1]], y + 23, "ci", 4
        )
    described = f"Floor {short(floor)}, measured noise {short(check['measured'])}, {fits}."
    caption = [
        f"Dot: the measured noise, {'mean of ' if check['seeds'] > 1 else ''}{count(check['seeds'], 'noise run')}"
        f"{', each a ring' if len(runs) > 1 else ''}. Red line: the floor; grey: one sd of such a mean around it."
    ]
    if around is not None:
        caption.append(f"Thin line: {level} interval.")
    if seen is not None:
        y = picture.row("would be noticed", f"from {short(seen)} up")
        picture.bar(seen, high, y, 12, "gap open")
        described += f" Noise from {short(seen)} up would have been noticed in 9 of 10 tries."
        caption.append("Dashed: noise that would have been noticed in 9 of 10 tries.")
    title = f"{row['measure']}: measured noise against the floor"
    return el("figure", picture.svg(name, title, described), el("figcaption", " ".join(caption)))


def _sizes(name: str, row: Mapping[str, Any], options: Mapping[str, Any]) -> Markup | None:
    """Which pool sizes the measured noise implies, and the candidates."""
    check = row["check1"]
    if check is None or (check["implied_n"] is None and check["implied_n_ci"] is None):
        return None
    n, around, given = check["implied_n"], check["implied_n_ci"], row["pool"]["n"]
    candidates = check["candidates"]
    sizes = [x for x in (n, given, *(around or ()), *(c["n"] for c in candidates)) if x is not None and x > 0]
    low, high = min(sizes) / 1.5, max(sizes) * (6 if around is not None and around[1] is None else 1.5)
    picture = Picture(Scale(low, high, log=True))
    if given is not None:
        picture.mark(given, f"given N = {given}", "score")
    found = f"N = {n:.0f}" if n is not None else "no single N"
    y = picture.row("the noise implies", found)
    described = f"The measured noise implies {found}."
    level = f"{100 * (1 - options['check_alpha']):g} %"
    caption = "Pool sizes, on a scale of ratios."
    if around is not None:
        ends = [around[0], high if around[1] is None else around[1]]
        picture.bar(ends[0], ends[1], y - 3, 18, "zone")
        upper = "and up" if around[1] is None else f"to {around[1]}"
        caption += f" Grey: every N that the noise does not contradict, {around[0]} {upper} ({level})."
    if n is not None:
        picture.dot(n, y + 6, "dot", 6)
    for candidate in candidates:
        fits = candidate["fits"]
        word = "fits" if fits else "does not fit"
        y = picture.row(f"{candidate['unit']} = {candidate['n']}", word, "pass" if fits else "fail")
        if around is not None:
            picture.bar(ends[0], ends[1], y - 3, 18, "zone")
        picture.dot(candidate["n"], y + 6, "dot" if fits else "dot small", 6)
        described += f" {candidate['unit']} = {candidate['n']} {word}."
    title = f"{row['measure']}: pool sizes that the measured noise implies"
    return el("figure", picture.svg(name, title, described), el("figcaption", caption))


def _numbers(row: Mapping[str, Any]) -> list[tuple[Child, Child]]:
    pool, gold, each = row["pool"], row["gold"], row["per_query"]
    size = str(pool["n"]) if pool["n"] is not None else f"{pool['n_min']} to {pool['n_max']} a query"
    inside = f" in {count(pool['n_chunks'], 'chunk')}" if pool["n_chunks"] is not None else ""
    pairs: list[tuple[Child, Child]] = [
        ("floor", f"{short(row['expected'])} ({'simulated' if row['method'] == 'simulated' else 'computed'})"),
        ("floor by query", f"{short(each['min'])} to {short(each['max'])}"),
    ]
    if row["uniform"] is not None:
        pairs.append(("floor, documents drawn evenly", short(row["uniform"])))
    pairs += [
        ("sd of a noise run", short(row["sd"])),
        ("ceiling", number(row["ceiling"])),
        ("headroom", number(row["headroom"])),
        ("pool", f"{size} documents{inside} ({pool['source']})"),
        ("retrieved", "the whole pool" if row["depth"] is None else f"{row['depth']} a query"),
        (
            "gold",
            f"{gold['total']}, {gold['in_pool']} of them in the pool; "
            f"{count(gold['queries_without'], 'query')} without gold",
        ),
    ]
    if (one := row["check1"]) is not None:
        runs = f" ({', '.join(map(short, one['per_run']))})" if one["per_run"] else ""
        pairs.append(("measured noise", f"{short(one['measured'])}, {count(one['seeds'], 'seed')}{runs}"))
        pairs.append(
            ("measured noise over floor", f"{number(one['ratio'], 2)}{_ends(one['ci'], 2)}, p {p_value(one['p'])}")
        )
        pairs.append(("ratio that would be noticed", number(one["detectable_ratio"], 2)))
        n = "-" if one["implied_n"] is None else f"{one['implied_n']:.1f}"
        pairs.append(("implied N", f"{n}{_ends(one['implied_n_ci'], 0)}"))
    if (two := row["check2"]) is not None:
        assumed = " (the ceiling stands in for it)" if two["assumed"] else ""
        pairs.append(("score", f"{number(two['score'])}{assumed}"))
        pairs.append(("score over noise", number(two["signal"], 2)))
        pairs.append(("score over floor", number(two["signal_over_floor"], 2)))
        pairs.append(("chance-corrected score", number(two["chance_corrected"])))
    if (shared := row["noise_overlap"]) is not None:
        expected = f"{number(shared['observed'])}, by chance {number(shared['expected'])}, p {p_value(shared['p'])}"
        pairs.append((f"overlap, most of {count(shared['pairs'], 'pair')}", expected))
    if (harness := row.get("harness")) is not None:
        ran = f"{count(harness['runs'], 'simulated run')} of {harness['depth']} {harness['ids']} a query"
        pairs.append(("harness", f"{ran}, scored by {harness['backend']}"))
        pairs.append(("simulated score", f"{short(harness['score'])}, by the kernel {short(harness['kernel'])}"))
        law = f"sd {short(harness['sd'])}, p {p_value(harness['p'])} ({harness['law']})"
        pairs.append(("simulated score expected", f"{short(harness['expected'])}, {law}"))
    return pairs


def _ends(ends: Sequence[float | None] | None, digits: int) -> str:
    if ends is None:
        return ""
    low, high = ends
    return f" ({number(low, digits)} {'and up' if high is None else f'to {number(high, digits)}'})"

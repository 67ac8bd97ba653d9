"""The page: what it holds, that it needs nothing else, and that no name in it can do anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import made_floors
import pytest
from made_reports import OBSERVED, PASS, cheat, good, null, report, row, small

from falsify_adapters import cli
from falsify_adapters.errors import OptionError
from falsify_adapters.report.cures import CURES
from falsify_adapters.report.floor_data import FloorReport
from falsify_adapters.report.html import to_html
from falsify_adapters.report.html_figure import hardest, scale_of
from falsify_adapters.report.markup import el
from falsify_adapters.report.picture import Scale
from falsify_adapters.report.safe import number, p_value, short

ROOT = Path(__file__).resolve().parents[2]
ATTACK = "<script>alert(1)</script>\"'&\x1b[31m\ud800\u202e"
VOID = {"meta"}


class Parsed(HTMLParser):
    """Tags, attributes and text; raises where an element is not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), "an attribute is given twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "desc"):
            self.text.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def gates() -> dict[str, Any]:
    toothless = {"code": "null_toothless", "message": "Null A says nothing here."}
    few = good(
        run="few", pool={"n": None, "source": "run", "n_min": 8, "n_max": 12}, sha256=None, flags=[toothless],
        paired={"measure": "R@10(top1)", "score": 0.4321, "verdict": "PASS"}, tied_queries=7, tie_span=[0.8911, 0.9333],
    )  # fmt: skip
    few["nulls"]["A"]["reach"] = 0.0312
    few["nulls"]["D"] |= {"se": 0.0007, "method": "simulated"}
    few["nulls"]["plugin's own"] = null(0.9119, 0.2222, 0.04, "pass")
    bare = row("bare", "P@10", 0.31, [0.02] * 4, PASS, ceiling=None, chance_corrected=None, judged_at_k=None)
    for one in bare["nulls"].values():
        one |= {"ci95": None, "ci": None, "p": None}
    return report(good(flags=[OBSERVED]), cheat(flags=[OBSERVED]), small(), few, bare)


def floors() -> dict[str, Any]:
    several = made_floors.good(
        noise_overlap=made_floors.overlap(),
        check1=made_floors.check1(per_run=[0.0211, 0.0239], seeds=2, implied_n_ci=[111, None]),
        uniform=0.01712,
        flags=[OBSERVED],
    )
    plain = made_floors.row("P@10", depth=700)
    return made_floors.report(several, made_floors.units_bug(), made_floors.small_pool(), plain)


REPORTS = pytest.mark.parametrize("made", [gates, floors], ids=["gate", "floor"])


@REPORTS
def test_the_page_needs_nothing_else(made: Any) -> None:
    page = to_html(made())
    parsed = Parsed(page)
    assert page.isascii()
    used = {tag for tag, _ in parsed.tags}
    assert not used & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
    for _, attributes in parsed.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "xlink:href")]
        assert (attributes.get("href") or "#").startswith("#")
    namespace = 'xmlns="http://www.w3.org/2000/svg"'
    assert not re.findall(r"https?:|//[a-z]|url\(|@import|@font-face", page.replace(namespace, ""))


@REPORTS
def test_the_page_can_be_read_by_anyone(made: Any) -> None:
    parsed = Parsed(to_html(made()))
    assert parsed.named("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in parsed.named("meta")
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    pictures = [svg for svg in parsed.named("svg") if svg.get("role") == "img"]
    assert len(pictures) >= len(made()["results"])
    assert all(set((svg["aria-labelledby"] or "").split()) <= set(ids) for svg in pictures)
    assert all(svg.get("aria-hidden") == "true" for svg in parsed.named("svg") if svg not in pictures)
    assert len(parsed.named("caption")) == len(parsed.named("table"))
    assert all(head.get("scope") in ("row", "col") for head in parsed.named("th"))
    assert {link["href"] for link in parsed.named("a")} <= {f"#{name}" for name in ids}
    levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def values(data: Any) -> Iterator[Any]:
    """Every number and every text of a report."""
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, (list, tuple)):
        for part in data:
            yield from values(part)
    elif data is not None and not isinstance(data, bool):
        yield data


def ways(value: float) -> set[str]:
    """The ways in which a number may be rounded."""
    if isinstance(value, int):
        return {str(value)}
    return {number(value), number(value, 2), number(value, 1), short(value), p_value(value), f"{value:g}"}


@REPORTS
def test_every_number_and_every_name_is_there(made: Any) -> None:
    whole = made()
    text = " ".join(Parsed(to_html(whole)).text)
    shown = set(re.findall(r"-?[0-9]+(?:\.[0-9]+)?(?:e-[0-9]+)?", text))
    for result in [*whole["results"], whole["settings"], whole["qrels"]]:
        for value in values(result):
            if isinstance(value, str):
                alike = {"under-ns": "too few queries", "exact": "computed"}
                assert value in text or alike[value] in text, value
            else:
                assert ways(value) & shown, value


@REPORTS
def test_names_from_files_do_nothing(made: Any) -> None:
    whole = made()
    whole["qrels"]["path"] = ATTACK
    for result in whole["results"]:
        result |= {"flags": [{"code": ATTACK, "message": ATTACK}], "measure": ATTACK}
        result["pool"]["source"] = ATTACK
        if "nulls" in result:
            result |= {"run": ATTACK, "path": ATTACK}
            result["nulls"][ATTACK] = null(0.5, 0.1, 0.1, "pass")
        elif result["check1"] is not None and result["check1"]["candidates"]:
            result["check1"]["candidates"][0]["unit"] = ATTACK
    page = to_html(whole)
    assert "<script" not in page
    assert not {"\x1b", "\ud800", "\u202e"} & set(unescape(page))
    assert "<script>alert(1)</script>\"'&\\x1b[31m\\ud800\\u202e" in " ".join(Parsed(page).text)


@REPORTS
def test_the_same_report_gives_the_same_bytes(made: Any) -> None:
    assert to_html(made()) == to_html(made())


def test_the_verdict_comes_first_and_in_words() -> None:
    text = [part.strip() for part in Parsed(to_html(report(good(), cheat(), small()))).text if part.strip()]
    assert text[0] == "Four-null gate: FAIL"
    assert text[1:3] == ["Four-null gate:", "FAIL"]
    assert "3 rows, one per run and measure: 1 PASS, 1 FAIL, 1 UNDER-NS." in text
    assert any(part.startswith("About 131 queries like these") for part in text)
    found = [part for part in text if part.startswith("✗ gap")]
    assert found == ["✗ gap 0.0000, fails", "✗ gap 0.0200, fails", "✗ gap 0.0100, fails"]


def test_the_bars_are_where_the_numbers_are() -> None:
    """On a scale from 0 to 1 percents are the numbers: grey from null A, 0.51, up to 0.51 + tau; the score from 0, and
    filled from the null on."""
    parsed = Parsed(to_html(report(row("r", "nDCG@10", 0.8, [0.51, 0.49, 0.02, 0.5], PASS))))
    bars = [(bar["class"], bar["x"], bar["width"]) for bar in parsed.named("rect") if "%" in (bar["x"] or "")]
    assert bars[:3] == [
        ("zone", "51.000%", "5.000%"), ("bar pass", "0.000%", "80.000%"), ("gap pass", "51.000%", "29.000%"),
    ]  # fmt: skip
    null_line = next(line for line in parsed.named("line") if line["class"] == "expected")
    assert null_line["x1"] == null_line["x2"] == "51.000%"
    whisker = next(line for line in parsed.named("line") if line["class"] == "ci95")
    assert (whisker["x1"], whisker["x2"]) == ("77.000%", "83.000%")


def test_a_bar_under_its_null_has_no_gap() -> None:
    under = row("r", "nDCG@10", 0.4, [0.5] * 4, ["fail"] * 4)
    classes = [bar["class"] for bar in Parsed(to_html(report(under))).named("rect") if "%" in (bar["x"] or "")]
    assert classes == ["zone", "bar fail"] * 4


def test_a_far_ceiling_is_pointed_at() -> None:
    low = row("r", "AP", 0.02, [0.01] * 4, ["fail"] * 4, half=0.004)
    assert scale_of(low, 0.05)[1:] == (pytest.approx(1.15 * 0.06), False)
    assert "ceiling 1.0000 →" in Parsed(to_html(report(low))).text
    assert scale_of(row("r", "AP", 0.32, [0.01] * 4, PASS), 0.05) == (0.0, 1.0, True)
    assert scale_of(row("r", "AP", 0.02, [0.01] * 4, PASS, ceiling=0.05), 0.05)[2]


def test_ties_are_drawn_as_far_as_they_reach() -> None:
    tied = Parsed(to_html(report(row("r", "P@10", 0.8, [0.1] * 4, PASS, tied_queries=7, tie_span=[0.75, 0.84]))))
    (line,) = [line for line in tied.named("line") if line["class"] == "ties" and "%" in (line["x1"] or "")]
    assert (line["x1"], line["x2"]) == ("75.000%", "84.000%")
    assert "0.7500 to 0.8400" in tied.text
    without = Parsed(to_html(report(row("r", "P@10", 0.8, [0.1] * 4, PASS))))
    assert not [line for line in without.named("line") if line["class"] == "ties" and "%" in (line["x1"] or "")]


def test_the_table_of_all_rows_draws_the_hardest_null() -> None:
    """The one with the smallest gap of those that say something."""
    one = row("r", "P@10", 0.8, [0.1, 0.2, 0.3, 0.25], PASS)
    assert hardest(one, {"tau": 0.05}) == "C"
    one["nulls"]["D"] |= {"delta": 0.4, "mean": 0.4, "reach": 0.01}
    assert hardest(one, {"tau": 0.05}) == "D"
    one["flags"] = [{"code": "null_toothless", "message": "Null D says nothing here."}]
    assert hardest(one, {"tau": 0.05}) == "C"
    parsed = Parsed(to_html(report(one, one)))
    small_ones = [svg for svg in parsed.named("svg") if svg.get("class") == "bare"]
    assert len(small_ones) == 2


def test_folders_that_all_runs_share_are_left_out() -> None:
    def named(*paths: str) -> list[str]:
        made = report(*(good(run=path, path=path) for path in paths))
        return [part.strip() for part in Parsed(to_html(made)).text if part.strip().endswith("nDCG@10:")]

    assert named("a/b/x.run", "a/b/y.run") == ["x.run, nDCG@10:", "y.run, nDCG@10:"]
    assert named("a/b/x.run", "a/bc/x.run") == ["b/x.run, nDCG@10:", "bc/x.run, nDCG@10:"]
    assert named("/x.run", "y.run") == ["/x.run, nDCG@10:", "y.run, nDCG@10:"]
    assert named("/a/x.run") == ["x.run, nDCG@10:"]


def test_every_flag_has_the_cure_of_the_documentation() -> None:
    text = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8").split("## Errors")[0]
    told = {}
    for code, cure in re.findall(r"^\| `([a-z_0-9]+)` \| .*? \| (.*?) \|$", text, re.MULTILINE):
        told[code] = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cure).replace("`", "")
    assert told == CURES


def test_flags_come_with_what_to_do() -> None:
    text = " ".join(Parsed(to_html(report(good(flags=[OBSERVED])))).text)
    assert OBSERVED["message"] in text
    assert "What to do:  Give --pool N with the size of the collection." in text


def test_ticks_are_round_and_inside() -> None:
    assert [round(tick, 9) for tick in Scale(-0.05, 1.0).ticks()] == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert Scale(74.0, 1578.0, log=True).ticks() == [100.0, 1000.0]
    assert Scale(0.0, 2.0).at(0.5) == "25.000%"
    assert Scale(1.0, 100.0, log=True).at(10) == "50.000%"


def test_text_is_escaped_and_markup_is_not() -> None:
    assert el("p", "a<b", el("b", 1), None, ["&"], title='"', hidden=True, lang=None) == (
        '<p title="&quot;" hidden>a&lt;b<b>1</b>&amp;</p>'
    )


def test_files_by_their_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 2 x\nq2 Q0 d3 1 1 x\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert cli.run(["gate", "qrels.txt", "run.txt", "-o", "gate.html", "--quiet"]) == 3
    assert cli.run(["floor", "qrels.txt", "--pool", "20", "--score", "RR@10=0.9", "-o", "floor.html", "--quiet"]) == 0
    for name in ("gate", "floor"):
        assert Parsed((tmp_path / f"{name}.html").read_text(encoding="utf-8")).named("svg")
    FloorReport(floors()).save("saved.html")
    assert (tmp_path / "saved.html").read_text(encoding="utf-8") == to_html(floors())
    with pytest.raises(OptionError, match=r"Legal: \.txt, \.json, \.jsonl, \.csv"):
        FloorReport(floors()).save("saved.pdf")
    with pytest.raises(OptionError, match="cannot be written"):
        FloorReport(floors()).save("nowhere/saved.txt")

"""Every format: a gold file each, the values of the report in it, and ids that stay what they are."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import made_floors
import polars as pl
import pytest
from made_reports import cheat, good, report, small

import falsify_adapters as fa
from falsify_adapters.cli_common import writer_of
from falsify_adapters.errors import NotInstalledError, OptionError
from falsify_adapters.hookspecs import hookimpl
from falsify_adapters.offers import Offer
from falsify_adapters.registry import Registry
from falsify_adapters.report.delimited import FORMULA, to_csv, to_jsonl
from falsify_adapters.report.junit import to_junit
from falsify_adapters.report.markup_tables import latex, markdown, to_latex, to_markdown
from falsify_adapters.report.rows import rows
from falsify_adapters.report.saving import FORMATS, formats_of
from falsify_adapters.report.trec_eval import to_trec_eval, trec_name
from falsify_adapters.save_report import save

GOLD = Path(__file__).parent / "gold"
GATE = report(good(), cheat(), small())
FLOOR = made_floors.report(made_floors.good(), made_floors.units_bug(), made_floors.small_pool())
GATE_ONLY = {"trec_eval"}
ATTACKS = [
    "=1+1",
    "+1",
    "-1",
    "@x",
    "\tx",
    "\rx",
    "<script>alert(1)</script>",
    "a|b",
    "a&b",
    "\x1b[31m",
    "\u202e",
    "%",
    "a\nb",
    "\uff1d1+1",
    "\uffff\x0b",
]


def written(name: str, made: dict[str, Any]) -> str:
    return str(Registry(outside=False).resolve("formats", name)(made))


@pytest.mark.parametrize("known", FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize(("kind", "made"), [("gate", GATE), ("floor", FLOOR)])
def test_the_format_has_a_gold_file(known: Any, kind: str, made: dict[str, Any]) -> None:
    if kind == "floor" and known.name in GATE_ONLY:
        with pytest.raises(OptionError, match="only the gate's report"):
            written(known.name, made)
        return
    text = written(known.name, made)
    path = GOLD / f"{kind}{known.ending}"
    if os.environ.get("REWRITE_GOLD") == "1":
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text.endswith("\n")
    assert text == path.read_bytes().decode()


@pytest.mark.parametrize("made", [GATE, FLOOR], ids=["gate", "floor"])
def test_csv_holds_the_rows_unrounded(made: dict[str, Any]) -> None:
    lines = list(csv.DictReader(io.StringIO(to_csv(made))))
    for line, row in zip(lines, rows(made), strict=True):
        for key, value in row.items():
            if isinstance(value, float):
                assert float(line[key]) == value
            elif value is None:
                assert line[key] == ""
            elif isinstance(value, list):
                assert line[key].split() == value
            else:
                assert line[key] == str(value)


@pytest.mark.parametrize("made", [GATE, FLOOR], ids=["gate", "floor"])
def test_json_lines_hold_the_whole_report(made: dict[str, Any]) -> None:
    lines = [json.loads(line) for line in to_jsonl(made).splitlines()]
    assert [{k: v for k, v in line.items() if k in made["results"][0]} for line in lines] == made["results"]
    assert all(line["settings"] == made["settings"] and line["schema"] == made["schema"] for line in lines)


@pytest.mark.parametrize("attack", ATTACKS)
def test_ids_are_text_in_every_format(attack: str) -> None:
    made = report(good(run=attack, flags=[{"code": "pool_observed", "message": attack}]), cheat(run=attack))
    (head, *lines) = csv.reader(io.StringIO(to_csv(made)))
    for line in lines:
        assert not any(cell.startswith(FORMULA) and not _is_number(cell) for cell in line)
        assert line[head.index("run")].removeprefix("'") == attack
    suite = ET.fromstring(to_junit(made))
    assert "\x1b" not in to_junit(made)
    assert len(suite.findall(".//testcase")) == 2
    table = [line for line in to_markdown(made).splitlines() if line.startswith("| ")]
    assert len(table) == 4
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {11}
    assert "<script>" not in to_markdown(made)
    body = to_latex(made).split("\\midrule")[1].split("\\bottomrule")[0]
    assert body.count(r"\\") == 2
    assert len(re.findall(r"(?<!\\)&", body)) == 2 * 9
    assert to_latex(made).isascii()
    assert json.loads(to_jsonl(made).splitlines()[0])["run"] == attack


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_markdown_and_latex_leave_nothing_that_is_markup() -> None:
    every = "".join(map(chr, range(32, 127)))
    assert re.sub(r"\\([\\`*_{}\[\]<>()#+!|~&@$])", "", markdown(every)).isascii()
    assert not re.search(r"(?<!\\)[`*_<>|\[\]&$]", markdown(every))
    assert not re.search(r"(?<!\\)[$&#%_]", latex(every))
    assert not re.search(r"[~^<>\"]", re.sub(r"\\text[a-z]+\{\}", "", latex(every)))
    assert markdown("see https://x.y") == "see https:\\//x.y"
    assert markdown("www.x.y :tada: $x$ a: b") == "www\\.x.y \\:tada: \\$x\\$ a: b"


def test_latex_is_a_table_of_booktabs() -> None:
    text = to_latex(GATE)
    begun, ended = re.findall(r"\\begin\{(\w+)\}", text), re.findall(r"\\end\{(\w+)\}", text)
    assert begun == ended[::-1] == ["table", "tabular"]
    columns = re.search(r"\\begin\{tabular\}\{(\w+)\}", text)
    assert columns is not None
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") + 1 for line in lines} == {len(columns[1])}
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    assert set(re.findall(r"\\(\w+rule)", text)) == {"toprule", "midrule", "bottomrule"}


def test_latex_keeps_text_from_becoming_an_argument_or_a_ligature() -> None:
    text = to_latex(report(good(run="[2pt] a--b---c,,d"), cheat(run="*x"), small(score=-0.01)))
    lines = text.split("\\midrule\n")[1].splitlines()
    assert lines[0].startswith("{}[2pt] a-{}-b-{}-{}-c,{},d & ")
    assert lines[1].startswith("{}*x & ")
    assert lines[2].startswith("small & nDCG@10 & UNDER-NS & $-$0.0100 & ")
    assert latex("é\N{BULLET}") == r"\textbackslash{}xe9\textbackslash{}u2022"


def test_latex_fits_a_page_and_explains_itself() -> None:
    text = to_latex(GATE)
    assert max(len(line) for line in text.splitlines() if line.endswith(r"\\")) < 100
    assert "Gap: the score minus what each null expects (A permuted gold, B uniform gold, C random retrieval" in text


def test_junit_counts_failures_and_skips() -> None:
    suites = ET.fromstring(to_junit(GATE))
    found = {s.get("name"): (s.get("tests"), s.get("failures"), s.get("skipped")) for s in suites}
    assert found == {"good": ("1", "0", "0"), "cheat": ("1", "1", "0"), "small": ("1", "0", "1")}
    failure = suites.find(".//failure")
    assert failure is not None
    assert "Fails nulls A, B and D" in str(failure.get("message"))
    assert "Four-null gate: FAIL" in str(failure.text)
    skipped = suites.find(".//skipped")
    assert skipped is not None
    assert str(skipped.get("message")).startswith("UNDER-NS: Too few queries to tell.")
    floor = ET.fromstring(to_junit(FLOOR))
    bad = {(c.get("classname"), c.get("name")) for c in floor.iter("testcase") if c.find("failure") is not None}
    expected = {
        (row["measure"], name)
        for row in FLOOR["results"]
        for name in ("check1", "check2", "noise_overlap")
        if row[name] is not None and row[name]["verdict"] != "pass"
    }
    assert bad == expected
    messages = [str(failure.get("message")) for failure in floor.iter("failure")]
    assert messages[0].startswith("check1 says above. The unit is wrong: N = 1052 counts chunks")
    assert (floor.get("tests"), floor.get("failures"), floor.get("skipped")) == ("5", "2", "0")


def test_junit_skips_a_floor_without_checks() -> None:
    suites = ET.fromstring(to_junit(fa.floor(QRELS, "RR@10", pool=1000).to_dict()))
    (case,) = suites.iter("testcase")
    (skipped,) = case
    assert (skipped.tag, skipped.get("message")) == ("skipped", "No check was asked for; the floor is 0.0029.")


def test_trec_evals_lines_have_three_columns() -> None:
    lines = [line.split("\t") for line in to_trec_eval(GATE).splitlines()]
    assert {len(line) for line in lines} == {3}
    assert {len(name) for name, _, _ in lines} == {22}
    assert lines[:2] == [["ndcg_cut_10           ", "all", "0.9119"], ["gate_ndcg_cut_10      ", "all", "PASS"]]


@pytest.mark.parametrize(
    ("ours", "rel", "theirs"),
    [
        ("AP", 1, "map"), ("AP@1000", 1, "map_cut_1000"), ("P@5", 1, "P_5"), ("R@100", 1, "recall_100"),
        ("RR", 1, "recip_rank"), ("RR@10", 1, "RR@10"), ("nDCG", 1, "ndcg"), ("nDCG@20", 1, "ndcg_cut_20"),
        ("Success@5", 1, "success_5"), ("IPrec@0.1", 1, "iprec_at_recall_0.10"), ("SetF", 1, "set_F"),
        ("AP(rel=2)", 2, "map"), ("AP(rel=2)", 1, "AP(rel=2)"), ("RBP(p=0.8)", 1, "RBP(p=0.8)"),
        ("SetP(relative=True)", 1, "set_relative_P"), ("SetP(relative=True,rel=2)", 2, "set_relative_P"),
        ("SetAP", 1, "set_map"), ("relative_P@5", 1, "relative_P_5"), ("P(rel=2)@1000", 2, "P_1000"),
        ("nDCG(dcg='exp-log2')@10", 1, "nDCG(dcg='exp-log2')@10"),
    ],
)  # fmt: skip
def test_measures_have_trec_evals_names(ours: str, rel: int, theirs: str) -> None:
    assert trec_name(ours, rel) == theirs


QRELS = {f"q{i}": {f"d{i}": 1} for i in range(30)}
RUN = {f"q{i}": {f"d{i}": 2.0, f"d{(i + 1) % 30}": 1.0} for i in range(30)}


def test_frames_hold_the_rows() -> None:
    made = fa.gate(QRELS, RUN, ["nDCG@10", "AP"], pool=1000, n_boot=100)
    frame = made.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dicts() == rows(made.to_dict())
    assert made.to_frame(pandas=True)["score"].tolist() == [entry.score for entry in made]
    each = made.to_frame(per_query=True)
    assert each.height == 60
    assert each.filter(pl.col("measure") == "AP")["score"].to_list() == made["AP"].result.own.tolist()
    assert each.columns[:5] == ["run", "measure", "query_id", "score", "floor"]
    floor = fa.floor(QRELS, ["RR@10", "P@5"], pool=1000, measured=["RR@10=0.003"]).to_frame()
    assert floor["measure"].to_list() == ["RR@10", "P@5"]
    assert floor["check1"].to_list() == ["pass", None]
    assert fa.floor(QRELS, "RR@10", pool=1000).to_frame(pandas=True).shape[0] == 1


def test_a_pandas_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(NotInstalledError, match=r"a pandas frame needs (pandas|pyarrow).*pip install pandas pyarrow"):
        fa.floor(QRELS, "RR@10", pool=1000).to_frame(pandas=True)


@pytest.mark.parametrize("known", FORMATS, ids=lambda f: f.name)
def test_a_report_is_saved_by_its_ending(known: Any, tmp_path: Path) -> None:
    made = fa.gate(QRELS, RUN, pool=1000, n_boot=100)
    made.save(tmp_path / f"x{known.ending}")
    text = (tmp_path / f"x{known.ending}").read_text(encoding="utf-8")
    assert text == written(known.name, made.to_dict(per_query=known.name == "html"))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_rows_of_queries_are_saved_by_their_ending(ending: str, tmp_path: Path) -> None:
    made = fa.gate(QRELS, RUN, pool=1000, n_boot=100)
    path = tmp_path / f"q.{ending}"
    made.save_per_query(path)
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending](path)  # type: ignore[operator]
    assert read["score"].to_list() == made["nDCG@10"].result.own.tolist()
    assert read["query_id"].to_list() == list(made["nDCG@10"].queries)
    assert read["relevant_retrieved"].to_list() == [1] * 30


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    made = fa.gate(QRELS, RUN, pool=1000, n_boot=100)
    with pytest.raises(OptionError, match=r"the ending '\.pdf' stands for no format. Legal: \.txt, \.json"):
        made.save(tmp_path / "x.pdf")
    with pytest.raises(OptionError, match=r"rows have no ending '\.txt'. Legal: \.csv, \.jsonl or \.parquet"):
        made.save_per_query(tmp_path / "x.txt")
    with pytest.raises(OptionError, match="cannot be written"):
        made.save_per_query(tmp_path / "none" / "x.parquet")
    with pytest.raises(OptionError, match="cannot be written"):
        made.save(tmp_path / "none" / "x.md")


def test_every_report_is_saved_in_every_format_that_has_a_form_for_it_and_no_other(tmp_path: Path) -> None:
    reports = {
        "gate": fa.gate(QRELS, RUN, pool=1000, n_boot=100),
        "floor": fa.floor(QRELS, pool=1000),
        "power": fa.power(QRELS, "nDCG@10", pool=1000),
    }
    for kind, made in reports.items():
        for known in FORMATS:
            path = tmp_path / f"{kind}{known.ending}"
            if known.name in formats_of(kind):
                made.save(path)
                assert path.read_text(encoding="utf-8").endswith("\n")
            else:
                with pytest.raises(OptionError, match=f"the ending '{known.ending}' stands for no format"):
                    made.save(path)


def test_a_plugins_format_saves_files_of_its_name(tmp_path: Path) -> None:
    class Plugin:
        @hookimpl
        def formats(self) -> list[Offer]:
            return [Offer("shout", lambda: lambda report: report["schema"].upper() + "\n", "the schema, loud")]

    registry = Registry(outside=False)
    registry.register(Plugin(), package="made")
    save(GATE, tmp_path / "x.shout", registry)
    assert (tmp_path / "x.shout").read_text() == "FALSIFY-ADAPTERS.GATE/1\n"
    assert writer_of(registry, "floor", "shout", None)[1](FLOOR) == "FALSIFY-ADAPTERS.FLOOR/1\n"
    assert writer_of(registry, "floor", None, "x.shout")[0] == "shout"
    with pytest.raises(OptionError, match=r"\.xml, \.shout"):
        save(GATE, tmp_path / "x.pdf", registry)

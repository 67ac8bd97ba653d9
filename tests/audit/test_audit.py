"""Published results against chance: layouts, main scores, findings, and MTEB's own numbers."""

from __future__ import annotations

import json
import math
import tarfile
from pathlib import Path
from typing import Any

import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.audit.find import find
from falsify_adapters.audit.judge import Context, judge, measure_of, random_scores, resolve
from falsify_adapters.audit.results import Record, Unreadable, named, records
from falsify_adapters.audit.stats import Known, Statistics, known_of, read_statistics
from falsify_adapters.core.published import Facts, Spread
from falsify_adapters.errors import FalsifyError


def stats(gold: float = 1.0, size: int = 9, queries: int = 1000, **more: Any) -> dict[str, Any]:
    return {
        "num_documents": size, "num_queries": queries,
        "relevant_docs_statistics": {
            "min_relevant_docs_per_query": 1, "average_relevant_docs_per_query": gold,
            "max_relevant_docs_per_query": math.ceil(gold),
        },
        "top_ranked_statistics": None, **more,
    }  # fmt: skip


def context(**more: Any) -> Context:
    return Context(Statistics("made", {("T", "test", "default"): known_of(stats())}), **more)


def result(value: float, **more: Any) -> dict[str, Any]:
    entry = {"hf_subset": "default", "languages": ["eng"], "main_score": value, "map_at_1000": value, **more}
    return {"task_name": "T", "mteb_version": "2.0", "scores": {"test": [entry]}}


def judged(made: Any, **more: Any) -> dict[str, Any]:
    (row,) = judge("results/org__m/rev/T.json", json.dumps(made).encode(), context(**more))
    return row


FLOOR = sum(1 / i for i in range(1, 10)) / 9  # of MAP, 9 candidates, one relevant


@pytest.mark.parametrize(
    ("score", "finding"),
    [(0.02, "below_chance"), (FLOOR, "indistinguishable"), (0.28, "indistinguishable"), (0.36, "indistinguishable"),
     (0.37, "above"), (0.9, "above")],
)  # fmt: skip
def test_findings_follow_from_the_floor(score: float, finding: str) -> None:
    row = judged(result(score))
    assert row["finding"] == finding
    assert row["floor"] == pytest.approx([FLOOR, FLOOR])
    assert row["floor_source"] == "statistics"
    assert row["why"] == ""
    assert row["headroom_used"] == pytest.approx((score - FLOOR) / (1 - FLOOR))
    assert (row["model"], row["revision"], row["measure"]) == ("org/m", "rev", "AP")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (b"", "not legal JSON"), (b'{"scores": {"test": [{"main_score": 0.5', "not legal JSON"),
        (b"[]", "holds a list"),
        (b"{}", "no scores in any layout"), (b"[" * 200_000, "nested too deeply"), (b'{"a": "\xe9"}', "not UTF-8"),
        (b'{"scores": {"test": [{"main_score": 1, "main_score": 2}]}}', "'main_score' stands twice"),
        (b" " * (33 * 2**20), "bytes, and a file of results has at most"),
        (json.dumps(result(0.5) | {"scores": {}}).encode(), "no scores in any layout"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_result_is_a_row_with_its_reason(made: bytes, why: str) -> None:
    (row,) = judge("m/r/T.json", made, context())
    assert row["finding"] == "unknown"
    assert why in row["why"]
    assert (row["model"], row["task"], row["score"]) == ("m", "T", None)


@pytest.mark.parametrize(
    ("value", "why"),
    [("0.5", "'0.5', not a number"), (None, "None, not a number"), (True, "True, not a number"),
     (float("nan"), "not a finite number"), (float("inf"), "not a finite number"), (10**400, "not a finite number")],
)  # fmt: skip
def test_values_that_are_no_numbers(value: Any, why: str) -> None:
    made = result(0.5)
    made["scores"]["test"][0]["main_score"] = value
    (row,) = judge("m/r/T.json", json.dumps(made).encode(), context())
    assert row["finding"] == "unknown"
    assert why in row["why"]


def test_1e400_is_not_a_score() -> None:
    (row,) = judge("m/r/T.json", json.dumps(result(0.5)).replace("0.5", "1e400").encode(), context())
    assert "not a finite number" in row["why"]
    (row,) = judge("m/r/T.json", json.dumps(result(7.5)).encode(), context())
    assert "outside 0 to 1" in row["why"]


def test_every_layout() -> None:
    flat = {"mteb_version": "1.0", "mteb_dataset_name": "T", "test": {"map": 0.5, "mrr": 0.6, "evaluation_time": 9.0}}
    lang = {
        "mteb_dataset_name": "T",
        "test": {"evaluation_time": 9.0, "go": {"ndcg_at_10": 0.1}, "py": {"ndcg_at_10": 0.2}},
    }
    assert records(json.dumps(flat).encode()) == (
        "T",
        [Record("test", "default", {"map": 0.5, "mrr": 0.6, "evaluation_time": 9.0}, {})],
    )
    assert [(r.subset, r.values["ndcg_at_10"]) for r in records(json.dumps(lang).encode())[1]] == [
        ("go", 0.1),
        ("py", 0.2),
    ]
    new = records(json.dumps(result(0.5)).encode())[1]
    assert [(r.split, r.subset) for r in new] == [("test", "default")]
    with pytest.raises(Unreadable):
        records(b'{"scores": [1, 2]}')


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"main_score": 0.5, "map_at_1000": 0.5, "ndcg_at_10": 0.6}, ["map_at_1000"]),
        ({"main_score": 0.5, "ndcg_at_10": 0.5, "map_at_1000": 0.5}, ["ndcg_at_10", "map_at_1000"]),
        ({"main_score": 0.5, "recall_at_5": 0.5, "ndcg_at_10": 0.4}, ["recall_at_5"]),
        ({"main_score": 0.5, "mrr_at_3": 0.5}, ["mrr_at_3"]),
        ({"main_score": 0.5, "NDCG@10(MIRACL)": 0.5}, ["NDCG@10(MIRACL)"]),
        ({"main_score": 0.5, "accuracy": 0.5, "nauc_map_at_1_max": 0.5}, []),
        ({"ndcg_at_10": 0.5, "map_at_10": 0.4}, ["ndcg_at_10"]), ({"map": 0.5, "mrr": 0.4}, ["map"]), ({"v": 0.5}, []),
    ],
)  # fmt: skip
def test_main_score_is_the_value_that_equals_it(values: dict[str, float], expected: list[str]) -> None:
    names, why = resolve(Record("test", "default", values, {}), "main_score")
    assert names == expected
    assert bool(why) == (not expected)


def test_a_score_of_several_measures_is_held_against_all_of_them() -> None:
    row = judged(result(0.5, ndcg_at_10=0.5))
    assert row["measure"] == "main_score"
    assert row["floor"] == pytest.approx([FLOOR, sum(1 / math.log2(i + 1) for i in range(1, 10)) / 9])
    assert row["finding"] == "unknown"
    assert "the floor reaches over all of them" in row["why"]
    assert judged(result(0.9, ndcg_at_10=0.9))["finding"] == "above"


def test_names_of_measures() -> None:
    assert str(measure_of("map")) == "AP"
    assert str(measure_of("mrr")) == "RR@10"
    assert str(measure_of("ndcg_at_10")) == "nDCG@10"
    assert measure_of("nauc_map_at_10_std") is None
    assert measure_of("accuracy") is None
    assert named("results/a__b/rev1/Task.json") == named("a__b/rev1/Task.json")
    assert named("Task.json").model == ""


@pytest.mark.parametrize(
    ("numbers", "facts", "doubt"),
    [
        (stats(gold=2.5, size=100), Facts(1000, Spread(100, 100, 100), Spread(2.5, 1, 3)), ""),
        (stats(gold=0.0), None, "0 relevant documents"),
        (stats(gold=30.0), None, "more than the 9 there are"),
        ({"num_documents": 5}, None, "how many queries"),
        (stats(relevant_docs_statistics={"min_relevant_docs_per_query": 26, "average_relevant_docs_per_query": 1.06,
                                         "max_relevant_docs_per_query": 29}, size=50),
         Facts(1000, Spread(50, 50, 50), Spread(1.06, 1, 29)), "least 26, above the mean 1.06"),
        (stats(relevant_docs_statistics={"min_relevant_docs_per_query": 9, "average_relevant_docs_per_query": 1.0,
                                         "max_relevant_docs_per_query": 9},
               top_ranked_statistics={"min_top_ranked_per_query": 9, "average_top_ranked_per_query": 9.0,
                                      "max_top_ranked_per_query": 9}),
         Facts(1000, Spread(9.0, 9, 9), Spread(1.0, 1, 9)), "those are the candidates"),
    ],
)  # fmt: skip
def test_statistics_that_contradict_are_named_and_not_used(
    numbers: dict[str, Any], facts: Facts | None, doubt: str
) -> None:
    known = known_of(numbers)
    assert known.facts == facts
    assert doubt in "; ".join(known.doubts)
    assert bool(doubt) == bool(known.doubts)


def test_a_random_model_is_a_floor_where_statistics_say_less() -> None:
    wide = Known(Facts(5908, Spread(16.49, 2, 335), Spread(7.52, 1, 335)))
    known = Statistics("made", {("T", "test", "default"): wide})
    random = random_scores([("r/x/T.json", json.dumps(result(0.55)).encode())], ("main_score",))
    assert random == {("T", "test", "default", "AP@1000"): 0.55}
    alone = Context(known)
    (row,) = judge("m/r/T.json", json.dumps(result(0.5626)).encode(), alone)
    assert (row["finding"], row["floor_source"]) == ("unknown", "statistics")
    (row,) = judge("m/r/T.json", json.dumps(result(0.5626)).encode(), Context(known, random=random))
    assert (row["finding"], row["floor_source"]) == ("indistinguishable", "random_model")
    old = {"mteb_dataset_name": "T", "test": {"map": 0.5626, "mrr": 0.6}}  # map is map_at_1000 on lists of 335
    (row,) = judge("m/r/T.json", json.dumps(old).encode(), Context(known, random=random))
    assert row["finding"] == "indistinguishable"
    (row,) = judge("m/r/T.json", json.dumps(result(0.1)).encode(), Context(Statistics(), random=random))
    assert "number of queries is not known" in row["why"]


# --- MTEB's own numbers ---


@pytest.fixture(scope="module")
def published(shared: Path) -> tuple[str, str]:
    folder = shared / "data" / "mteb"
    return str(folder / "published-results.tar.gz"), str(folder / "descriptive_stats.jsonl")


@pytest.fixture(scope="module")
def whole(published: tuple[str, str]) -> list[Any]:
    return fa.audit_mteb(published[0], stats=published[1]).rows()


def test_nine_in_ten_have_a_finding_and_the_rest_a_reason(whole: list[Any]) -> None:
    assert len({row["path"] for row in whole}) == 806
    assert len({row["model"] for row in whole}) == 40
    assert len({row["task"] for row in whole}) == 31
    unknown = [row for row in whole if row["finding"] == "unknown"]
    assert len(unknown) <= len(whole) / 10
    assert all(row["why"] for row in unknown)
    assert not any(row["why"] for row in whole if row["finding"] != "unknown")


def test_by_statistics_alone_the_random_encoder_is_as_random(published: tuple[str, str]) -> None:
    rows = fa.audit_mteb(published[0], stats=published[1], random_model="none").rows()
    found = {row["finding"] for row in rows if "random" in row["model"]}
    assert found == {"indistinguishable", "unknown"}
    assert len([r for r in rows if r["finding"] == "unknown"]) <= len(rows) / 8


# Worked out by hand from the statistics: N, G and the formula, or the random encoder's own score.
BY_HAND = [
    ("mteb/baseline-bm25s", "T2Reranking", "default", 0.0188, None, "below_chance"),
    ("sentence-transformers/all-MiniLM-L6-v2", "T2Reranking", "default", 0.56258, None, "indistinguishable"),
    ("mteb/baseline-bm25s", "VoyageMMarcoReranking", "default", 0.02558, None, "below_chance"),
    ("mteb/baseline-random-encoder", "AskUbuntuDupQuestions", "default", 0.38167, 0.37287, "indistinguishable"),
    ("mteb/baseline-random-encoder", "WikipediaRerankingMultilingual", "en", None, 0.31433, "indistinguishable"),
    ("mteb/baseline-random-encoder", "TRECCOVID", "default", None, None, "indistinguishable"),
    ("mteb/baseline-bm25s", "CMedQAv1-reranking", "default", 0.01621, None, "below_chance"),
    ("minishlab/M2V_base_glove", "VoyageMMarcoReranking", "default", 0.055098, None, "below_chance"),
    ("mteb/baseline-bm25s", "SciFact", "default", None, None, "above"),
    ("openai/text-embedding-3-large", "SCIDOCS", "default", None, None, "above"),
]


@pytest.mark.parametrize(("model", "task", "subset", "score", "floor", "finding"), BY_HAND)
def test_findings_by_hand(
    whole: list[Any], model: str, task: str, subset: str, score: float | None, floor: float | None, finding: str
) -> None:
    rows = [r for r in whole if (r["model"], r["task"], r["subset"]) == (model, task, subset) and r["split"] != "train"]
    if score is not None:
        rows = [row for row in rows if row["score"] == pytest.approx(score, abs=5e-6)]
    assert rows
    for row in rows:
        assert row["finding"] == finding
        if floor is not None:
            assert row["floor"] == pytest.approx([floor, floor], abs=5e-6)


def test_the_random_encoder_by_arithmetic(whole: list[Any]) -> None:
    """AskUbuntu: 20 candidates, 5.4709 relevant; MAP is linear in G: (H_20 + (G-1)/19 (20 - H_20))/20."""
    h = sum(1 / i for i in range(1, 21))
    expected = (h + (5.470914127423823 - 1) / 19 * (20 - h)) / 20
    (row,) = [r for r in whole if "random" in r["model"] and r["task"] == "AskUbuntuDupQuestions"]
    assert row["floor"] == pytest.approx([expected, expected], rel=1e-9)
    assert abs(row["score"] - expected) < 0.02
    languages = [r for r in whole if "random" in r["model"] and r["task"] == "WikipediaRerankingMultilingual"]
    assert len(languages) == 16
    assert all(0.304 < r["score"] < 0.328 and r["floor"] == pytest.approx([FLOOR, FLOOR]) for r in languages)


def test_statistics_in_every_form_say_the_same(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "mteb"
    with tarfile.open(folder / "descriptive_stats-folder.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    by_archive = read_statistics(str(folder / "descriptive_stats-folder.tar.gz"))
    by_folder, by_lines = read_statistics(str(tmp_path)), read_statistics(str(folder / "descriptive_stats.jsonl"))
    assert by_archive.known == by_folder.known
    both = [k for k in by_folder.known if k in by_lines.known and by_folder.known[k].facts is not None]
    assert len(both) > 1500
    assert all(by_folder.known[k].facts == by_lines.known[k].facts for k in both)


# --- the command line ---


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for model, value in (("org__good", 0.9), ("org__broken", 0.02), ("org__baseline-random", FLOOR)):
        folder = Path("results", model, "rev")
        folder.mkdir(parents=True)
        (folder / "T.json").write_text(json.dumps(result(value)))
        (folder / "model_meta.json").write_text("{}")
    Path("stats.jsonl").write_text(json.dumps({"task": "T", "split": "test", "subset": None, **stats()}) + "\n")
    return tmp_path


LINE = ["audit", "mteb", "results", "--stats", "stats.jsonl"]


@pytest.mark.usefixtures("tree")
def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(LINE) == 0
    text = capsys.readouterr().out
    assert text.startswith("Audit: 3 files, 3 scores\n")
    assert "1 below chance, 1 as random, 1 above, 0 unknown" in text
    assert max(map(len, text.splitlines())) <= 80
    assert cli.run([*LINE, "--format", "json", "--fail-on", "below_chance"]) == 1
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "falsify-adapters.audit/1"
    assert [r["finding"] for r in made["results"]] == ["indistinguishable", "below_chance", "above"]
    (task,) = made["tasks"]
    assert (task["systems"], task["below_chance"], task["best"]) == (3, 1, 0.9)
    assert task["room"] == pytest.approx(1 - FLOOR)
    assert [m["model"] for m in made["models"]] == ["org/baseline-random", "org/broken", "org/good"]
    assert cli.run([*LINE, "--model", "org/good", "--format", "csv", "--quiet"]) == 0
    assert cli.run([*LINE, "-o", "a.html"]) == 0
    page = Path("a.html").read_text()
    assert "Published scores against chance" in page
    assert page.count("<circle") == 2


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["audit", "mteb", "none"], "there is no file 'none'"),
        ([*LINE, "--task", "Nope*"], "none of the 3 result files fits"),
        ([*LINE, "--measure", "bpref"], "has no floor in an audit"),
        ([*LINE, "--random-model", "nobody"], "no model is called 'nobody'"),
        ([*LINE, "--resume"], "-o FOLDER or FILE.jsonl"),
        ([*LINE, "--stats", "nope"], "there is no file 'nope'"),
        ([*LINE, "--stats", "results/org__good/rev/T.json"], "line 1: has no field"),
        ([*LINE, "--pool", "9"], "belongs to saved predictions"),
        (["audit", "mteb", "stats.jsonl"], "no .json file of results"),
    ],
)
def test_usage_errors(capsys: pytest.CaptureFixture[str], args: list[str], says: str) -> None:
    assert cli.run(args) == 2
    assert says in capsys.readouterr().err


@pytest.mark.usefixtures("tree")
def test_a_link_to_itself_is_not_followed_for_ever() -> None:
    Path("results/loop").symlink_to(Path("results").resolve())
    assert len(find("results").items) == 3
    Path("results/org__good/rev/T.json").chmod(0)
    assert fa.audit_mteb("results", stats="stats.jsonl").summary.counts["unknown"] in (0, 1)  # root reads anything


def test_an_archive_is_the_tree(tree: Path) -> None:
    with tarfile.open("r.tar.gz", "w:gz") as archive:
        archive.add("results")
    folder, packed = (fa.audit_mteb(path, stats="stats.jsonl").rows() for path in ("results", "r.tar.gz"))
    assert [{**row, "path": f"results/{row['path']}"} for row in folder] == packed
    (tree / "torn.tar.gz").write_bytes((tree / "r.tar.gz").read_bytes()[:200])
    with pytest.raises(FalsifyError, match="cannot be read as an archive"):
        fa.audit_mteb("torn.tar.gz", stats="stats.jsonl")

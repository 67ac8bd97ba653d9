"""Runs side by side: against ranx on real runs, without ranx, and on the command line."""

from __future__ import annotations

import copy
import gzip
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.errors import FalsifyError
from falsify_adapters.report.compare_data import letters
from falsify_adapters.report.compare_text import SUPERSCRIPTS

RUNS = (
    "UPrrf93-wt-r5", "UPrrf102-wt-r5", "covidex.r5.2s", "udel_fang_ltr_split", "UIowaS_Run1", "DoRA_MSMARCO_1k",
    "uab.base", "bm25_bl_run5",
)  # fmt: skip
OURS = {"ndcg@10": "nDCG@10", "map": "AP", "precision@5": "P@5", "mrr@10": "RR@10", "recall@100": "R@100"}


def read(path: Path) -> list[list[str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [line.split() for line in text.splitlines()]


def plain(table: Any) -> dict[str, dict[str, float]]:
    return {q: dict(docs.items()) for q, docs in table.items()}


@pytest.fixture(scope="module")
def covid(shared: Path) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Qrels, and eight runs strictly ranked: by 32-bit score and id, as trec_eval has it."""
    folder = shared / "data" / "trec-covid-r5"
    qrels: dict[str, dict[str, int]] = {}
    for query, _, doc, grade in read(folder / "qrels.covid-round5.txt"):
        qrels.setdefault(query, {})[doc] = max(int(grade), 0)
    runs = {}
    for name in RUNS:
        lists: dict[str, list[tuple[np.float32, str]]] = {}
        for query, _, doc, _, score, _ in read(folder / "runs" / f"{name}.run.gz"):
            lists.setdefault(query, []).append((np.float32(score), doc))
        runs[name] = {
            q: {doc: float(len(rows) - at) for at, (_, doc) in enumerate(sorted(rows, reverse=True))}
            for q, rows in lists.items()
        }
    return qrels, runs


def test_the_table_is_ranxs_and_the_gate_beside_it(covid: Any) -> None:
    import ranx

    qrels, runs = covid
    truth, given = ranx.Qrels(qrels), [ranx.Run(run, name=name) for name, run in runs.items()]
    before = [plain(run.run) for run in given], plain(truth.qrels)
    theirs = ranx.compare(truth, given, list(OURS), stat_test="student", max_p=0.01, make_comparable=True)
    ours = fa.compare(truth, given, list(OURS.values()), pool=191_175, n_boot=100)
    assert ([plain(run.run) for run in given], plain(truth.qrels)) == before, "left as they were"
    assert isinstance(ours, type(theirs))
    assert ours.model_names == theirs.model_names == list(RUNS)
    for name in RUNS:
        for metric, measure in OURS.items():
            assert ours.results[name][measure] == pytest.approx(theirs.results[name][metric], abs=1e-9)
            assert ours.get_superscript_for_table(name, measure) == theirs.get_superscript_for_table(name, metric)
            for other in RUNS:
                if other != name:
                    mine, its = ours.comparisons[name, other][measure], theirs.comparisons[name, other][metric]
                    assert mine["p_value"] == pytest.approx(its["p_value"], rel=1e-6, nan_ok=True)
                    assert mine["significant"] == its["significant"]
                    assert ours.win_tie_loss[name, other][measure] == theirs.win_tie_loss[name, other][metric]
    table = ours.to_table()
    for row in theirs.to_table().splitlines()[2:]:
        _, name, *cells = row.split()
        line = next(x for x in table.splitlines() if x.split()[1:2] == [name])
        assert line.split()[2 : 2 + len(cells)] == [c.replace("۹", "ᑫ") for c in cells][: len(line.split()) - 2]
    assert "FAIL AP A +0.019" in table


def test_its_methods_are_ranxs(covid: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, runs = covid
    some = [{"q": run} for run in ()] or list(runs.values())[:3]
    report = fa.compare(qrels, some, ["nDCG@10", "AP"], pool=191_175, n_boot=100)
    assert str(report) == repr(report) == report.to_table()
    made = report.to_dict()
    assert made["stat_test"] == "student"
    assert made["metrics"] == ["nDCG@10", "AP"]
    assert made["run 1"]["scores"] == report.results["run 1"]
    assert made["run 1"]["gate"] == {"nDCG@10": "PASS", "AP": "PASS"}
    assert made["run 1"]["win_tie_loss"]["run 2"]["AP"] == report.win_tie_loss["run 1", "run 2"]["AP"]
    frame = report.to_dataframe()
    assert frame["model_names"].tolist() == ["run 1", "run 2", "run 3"]
    assert frame["gate AP"].tolist() == ["PASS"] * 3
    report.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text()) == json.loads(json.dumps(made))
    report.save(tmp_path / "r.html")
    assert "<sup" in (tmp_path / "r.html").read_text()
    assert "\\toprule" in report.to_latex()
    report.print_results()
    assert json.loads(capsys.readouterr().out) == report.results


def made_runs(n: int, queries: int = 30, seed: int = 0) -> tuple[dict[str, dict[str, int]], list[Any]]:
    rng = np.random.default_rng(seed)
    qrels = {f"q{i}": {f"d{i}": 1, f"e{i}": 2} for i in range(queries)}
    runs = []
    for r in range(n):
        scores = {
            f"q{i}": {f"d{i}": 1.0 + rng.normal(r / n), f"e{i}": 1.0 + rng.normal(r / n)}
            | {f"x{j}": float(s) for j, s in enumerate(rng.normal(1, 1, 20))}
            for i in range(queries)
        }
        runs.append(scores)
    return qrels, runs


def test_the_same_call_gives_the_same_bytes() -> None:
    qrels, runs = made_runs(4)
    first, second = (
        fa.compare(qrels, runs, ["nDCG@10", "AP"], pool=1000, stat_test="fisher", n_boot=100) for _ in range(2)
    )
    assert json.dumps(first.data) == json.dumps(second.data)
    assert first.to_latex() == second.to_latex()
    p = [row["p"] for row in first.data["comparisons"]]
    assert min(p) >= 1 / 1001
    options: dict[str, Any] = {"pool": 1000, "stat_test": "fisher", "n_boot": 100}
    other = fa.compare(qrels, runs, ["AP"], seed=1, **options)
    assert [row["p"] for row in other.data["comparisons"]] != p[6:]
    alone = fa.compare(qrels, runs[:2], "AP", **options)
    assert alone.data["comparisons"][0]["p"] == p[6], "whatever else is compared"


def test_more_runs_than_letters() -> None:
    assert letters(28)[-3:] == ["z", "aa", "ab"]
    assert len(set(letters(800))) == 800
    qrels, runs = made_runs(28, queries=12)
    for run in runs[:27]:  # the last run is best, and says so of all others
        for q in run:
            run[q] = dict.fromkeys(run[q], 1.0) | {f"d{q[1:]}": -5.0, f"e{q[1:]}": -6.0}
    for q in runs[27]:
        runs[27][q] |= {f"d{q[1:]}": 50.0, f"e{q[1:]}": 60.0}
    report = fa.compare(qrels, runs, "nDCG@10", pool=1000, n_boot=100, ties="input")
    last = next(line for line in report.to_table().splitlines() if line.startswith("ab "))
    assert "1.000ᵃ⁻ᵃᵃ " in last
    report.data["comparisons"][:] = [r for r in report.data["comparisons"] if {r["a"], r["b"]} != {"run 28", "run 3"}]
    last = next(line for line in report.to_table().splitlines() if line.startswith("ab "))
    assert "1.000ᵃ,ᵇ,ᵈ⁻ᵃᵃ " in last
    assert "\\textsuperscript{a,b,d-aa}" in report.to_latex()


def test_holm_counts_every_comparison_of_the_call() -> None:
    qrels, runs = made_runs(4)
    runs.append(copy.deepcopy(runs[0]))  # no test between twins
    plain = fa.compare(qrels, runs, ["nDCG@10", "AP"], pool=1000, n_boot=100)
    held = fa.compare(qrels, runs, ["nDCG@10", "AP"], pool=1000, n_boot=100, correction="holm")
    assert held.data["family"] == 2 * (10 - 1)
    for a, b in zip(plain.data["comparisons"], held.data["comparisons"], strict=True):
        assert a["p"] == b["p"]
        assert (b["p"] is None) or b["p_adjusted"] >= b["p"]
    assert "Holm over 18 comparisons" in " ".join(held.to_table().split())
    assert "uncorrected" in plain.to_table()
    assert any(flag["code"] == "identical_runs" for flag in held.data["gate"]["results"][0]["flags"])
    assert np.isnan(held.comparisons["run 1", "run 5"]["AP"]["p_value"])
    assert held.comparisons["run 1", "run 5"]["AP"]["significant"] is False


def test_where_nothing_can_be_significant_the_table_says_so() -> None:
    qrels, runs = made_runs(3)
    options: dict[str, Any] = {"pool": 1000, "n_boot": 100, "stat_test": "fisher"}
    few = fa.compare(qrels, runs, "AP", n_permutations=50, **options)
    assert few.data["least_p"] == 1 / 51
    assert "up to 50 permutations p is never below 0.0196." in " ".join(few.to_table().split())
    held = fa.compare(qrels, runs, "AP", n_permutations=200, correction="holm", **options)
    assert held.data["least_p"] == pytest.approx(3 / 201)
    assert "Holm's correction, p is never below 0.0149." in " ".join(held.to_table().split())
    enough = fa.compare(qrels, runs, "AP", correction="holm", **options)
    assert enough.data["settings"]["n_permutations"] == 3000
    assert "never below" not in enough.to_table()
    made = fa.compare(*made_runs(2, queries=6), "AP", **options)
    assert made.data["least_p"] == 2 / 2**6


def test_each_measure_has_its_gate_in_every_form(tmp_path: Path) -> None:
    qrels, runs = made_runs(3, queries=100)
    runs[0] = {q: {f"x{i}": float(i) for i in range(20)} for q in runs[0]}
    runs[0]["q0"]["d0"] = -1.0  # all that it finds
    measures = ["nDCG@10", "AP", "P@5", "RR@10", "R@5", "bpref", "Rprec"]
    report = fa.compare(qrels, runs, measures, pool=1000, n_boot=100, gate_column="each")
    heads = [line.split()[2:] for line in report.to_table().splitlines() if line.startswith("#")]
    assert [head for piece in heads for head in piece[::2]] == measures, "a gate stays beside its measure"
    assert {head for piece in heads for head in piece[1::2]} == {"gate"}
    latex = report.to_latex()
    assert "\\begin{tabular}{c|l" + "|ll" * 7 + "}" in latex
    rows = latex.split("\\midrule")[1].split("\\bottomrule")[0].strip().splitlines()
    assert [row.count(" & ") for row in rows] == [15] * 3
    assert [row.count("FAIL") for row in rows] == [7, 0, 0]
    assert "\\textbf" not in rows[0], "only the best are bold"
    report.save(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text().split("Every pair")[0]
    assert page.count(">FAIL</span>") >= 7
    report.save(tmp_path / "r.md")
    assert "gate of bpref" in (tmp_path / "r.md").read_text()


def test_without_ranx_it_is_the_same_but_no_report_of_ranx() -> None:
    code = """
import json, sys
sys.modules["ranx"] = None
sys.path.insert(0, "tests")
import falsify_adapters as fa
from test_compare import made_runs
qrels, runs = made_runs(3)
report = fa.compare(qrels, runs, ["nDCG@10"], pool=1000, n_boot=100, backend="builtin")
p = report.comparisons["run 1", "run 2"]["nDCG@10"]["p_value"]
print(json.dumps([type(report).__mro__[1].__name__, report.data, p]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[1], timeout=120
    )
    assert done.returncode == 0, done.stderr
    base, data, p = json.loads(done.stdout)
    qrels, runs = made_runs(3)
    report = fa.compare(qrels, runs, ["nDCG@10"], pool=1000, n_boot=100, backend="builtin")
    assert base == "object"
    assert data == report.data
    assert p == report.comparisons["run 1", "run 2"]["nDCG@10"]["p_value"]


@pytest.mark.parametrize("column", ["one", "each"])
@pytest.mark.parametrize("measures", [["nDCG@10"], ["nDCG@10", "AP", "P@5", "RR@10", "R@5", "bpref", "Rprec"]])
def test_the_table_fits_a_terminal(column: str, measures: list[str]) -> None:
    qrels, runs = made_runs(6)
    report = fa.compare(qrels, runs, measures, pool=1000, n_boot=100, gate_column=column)
    text = report.to_table()
    assert max(map(len, text.splitlines())) <= 80
    for measure in measures:
        assert measure in text
    assert text.count("PASS") + text.count("FAIL") >= 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stat_test": "wilcoxon"}, "--stat-test"), ({"max_p": 0}, "--max-p"), ({"correction": "bonferroni"}, "holm"),
        ({"gate_column": "two"}, "one, each"), ({"n_permutations": 0}, "--permutations"),
        ({"rounding_digits": 1}, "--digits"), ({"queries": "both"}, "same ones"), ({"tau": 2}, "--tau"),
    ],
)  # fmt: skip
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    qrels, runs = made_runs(2)
    del runs[1]["q3"]
    with pytest.raises(FalsifyError, match=words):
        fa.compare(qrels, runs, **{"pool": 1000, "n_boot": 100, **options})


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    qrels, runs = made_runs(3)
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, j in qrels.items() for d, g in j.items()))
    for n, run in enumerate(runs):
        rows = (f"{q} Q0 {d} 1 {s!r} t\n" for q, docs in run.items() for d, s in docs.items())
        (tmp_path / f"run{n}.run").write_text("".join(rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


LINE = ["compare", "qrels.txt", "run0.run", "run1.run", "run2.run", "--pool", "1000", "--n-boot", "100"]


@pytest.mark.usefixtures("files")
def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*LINE, "-m", "nDCG@10", "-m", "AP"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("3 runs, 2 measures; four-null gate: PASS\n")
    assert [line.split()[:2] for line in text.splitlines() if line[:2] in ("a ", "b ", "c ")] == [
        ["a", "run0"], ["b", "run1"], ["c", "run2"],
    ]  # fmt: skip
    assert cli.run([*LINE, "--format", "json", "--stat-test", "fisher", "--correction", "holm"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "falsify-adapters.compare/1"
    assert made["settings"]["n_permutations"] == 3000
    assert [run["run"] for run in made["runs"]] == ["run0", "run1", "run2"]
    assert made["gate"]["schema"] == "falsify-adapters.gate/1"
    runs = [f"run{n}.run" for n in range(3)]
    assert made["scores"]["run1"]["nDCG@10"] == fa.gate("qrels.txt", runs[1], n_boot=100)["nDCG@10"].score


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("csv", "letter,run,measure"), ("jsonl", '"better_than"'), ("markdown", "| # | model | gate | nDCG"),
        ("latex", "\\midrule"), ("html", "Side by side"), ("trec_eval", "gate_ndcg_cut_10"), ("junit", "<testsuites"),
    ],
)  # fmt: skip
def test_every_format(capsys: pytest.CaptureFixture[str], form: str, word: str) -> None:
    assert cli.run([*LINE, "--format", form]) == 0
    text = capsys.readouterr().out.replace("\\#", "#")
    assert word in text
    assert text.endswith("\n")


@pytest.mark.usefixtures("files")
def test_a_name_is_that_of_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other").mkdir()
    Path("other/run0.run").write_text(Path("run1.run").read_text())
    assert cli.run(["compare", "qrels.txt", "run0.run", "other/run0.run", "--pool", "1000", "--n-boot", "100"]) == 0
    assert "other/run0.run" in capsys.readouterr().out, "names that are taken twice are whole paths"
    assert cli.run(["compare", "qrels.txt", "run0.run", "run0.run", "--pool", "1000"]) == 2
    assert "'run0.run' is the name of 2 runs" in capsys.readouterr().err


def test_superscripts_are_one_each() -> None:
    assert len(set(SUPERSCRIPTS.values())) == 26
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(SUPERSCRIPTS) == letters(26)

"""Saved runs through the gate: MTEB's predictions, BEIR's folders, and what a BEIR script has in hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.audit.gated import loader_of_files, loader_of_task, predictions_in
from falsify_adapters.errors import FalsifyError

N = 40
QRELS = {f"q{i}": {f"d{i}": 1} for i in range(N)}
RESULTS = {f"q{i}": {f"d{i}": 2.0, f"d{(i + 1) % N}": 1.0} for i in range(N)}
CORPUS = {f"d{i}": {"text": str(i)} for i in range(500)}


@pytest.mark.parametrize("name", ["cranfield", "cacm"])
def test_predictions_score_as_the_run_that_they_were_made_from(shared: Path, name: str) -> None:
    folder = shared / "data" / "corpora" / name
    qrels, measures = str(folder / "qrels.txt"), ["nDCG@10", "AP@100", "RR@10", "R@100"]
    size = {"cranfield": 1400, "cacm": 3204}[name]
    (saved,) = predictions_in(str(folder))
    made = fa.audit_predictions(saved, loader_of_files(qrels, str(size)), measures, n_boot=100)
    run = fa.gate(qrels, str(folder / "runs" / "minilm-doc.run.gz"), measures, depth=100, pool=size, n_boot=100)
    for mine, theirs in zip(made, run, strict=True):
        assert mine.score == pytest.approx(theirs.score, abs=1e-9)
        assert {k: v.mean for k, v in mine.nulls.items()} == pytest.approx({k: v.mean for k, v in theirs.nulls.items()})
    assert made.entries[0].run == f"sentence-transformers/all-MiniLM-L6-v2 {Path(saved).name.partition('_')[0]} test"


def saved(folder: Path, **more: Any) -> Path:
    path = folder / "Made_predictions.json"
    path.write_text(json.dumps({"mteb_model_meta": {"model_name": "org/m"}, "default": {"test": RESULTS}, **more}))
    return path


def test_each_subset_and_split_is_a_row(tmp_path: Path) -> None:
    saved(tmp_path, en={"test": RESULTS, "dev": RESULTS})
    for split in ("test", "dev"):
        rows = "".join(f"{q} 0 {d} 1\n" for q, docs in QRELS.items() for d in docs)
        (tmp_path / f"Made-{split}.txt").write_text(rows)
    load = loader_of_files(str(tmp_path / "{task}-{split}.txt"), "500")
    made = fa.audit_predictions(str(tmp_path), load, "RR@10", n_boot=100)
    assert [e.run for e in made] == ["org/m Made test", "org/m Made test en", "org/m Made dev en"]
    assert made.qrels.queries == 3 * N
    assert made.verdict == "PASS"
    with pytest.raises(FalsifyError, match="none of 1 prediction files fits"):
        fa.audit_predictions(str(tmp_path), load, "RR@10", tasks=["Other"])


class Task:
    """As a retrieval task of mteb 2 holds its data."""

    def __init__(self, **more: Any) -> None:
        self.dataset: dict[str, Any] = {}
        self.more = more

    def load_data(self) -> None:
        self.dataset = {"default": {"test": {"relevant_docs": QRELS, "corpus": CORPUS, **self.more}}}


def test_a_task_in_memory_says_what_is_gold_and_how_large_n_is(tmp_path: Path) -> None:
    made = fa.audit_predictions(str(saved(tmp_path)), loader_of_task(Task()), "RR@10", n_boot=100)
    assert made.entries[0].pool_size.tolist() == [500] * N
    tops = {q: [*docs, "x1", "x2"] for q, docs in RESULTS.items()}
    made = fa.audit_predictions(str(saved(tmp_path)), loader_of_task(Task(top_ranked=tops)), "RR@10", n_boot=100)
    assert made.entries[0].pool_size.tolist() == [4] * N
    assert made.entries[0].nulls["C"].mean == pytest.approx((1 + 1 / 2) / 4)  # lists of 2 out of 4
    assert made.entries[0].nulls["A"].reach < 0.1 < made.entries[0].nulls["C"].reach  # only C can be reached
    with pytest.raises(FalsifyError, match="no subset 'default' with a split 'dev'"):
        loader_of_task(Task())("Made", "dev", "default")


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"{", "cannot be read as JSON"), (b"[]", "holds a list"), (b'{"default": {"test": [1]}}', "no lists under"),
     (gzip.compress(b"{}", mtime=0)[:9], "cannot be read as JSON")],
)  # fmt: skip
def test_predictions_that_are_none(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "T_predictions.json").write_bytes(content)
    with pytest.raises(FalsifyError, match=words):
        fa.audit_predictions(str(tmp_path), loader_of_files("q", "5"), "RR@10")


def test_a_beir_script_adds_the_gate_in_one_line() -> None:
    made = fa.audit_beir(QRELS, RESULTS, CORPUS, "nDCG@10", n_boot=100)
    assert made.verdict == "PASS"
    assert made.entries[0].pool_size.tolist() == [500] * N
    own = {**RESULTS, "q1": {"q1": 9.0, **RESULTS["q1"]}}
    kept = fa.audit_beir(QRELS, own, 500, "RR@10", n_boot=100, ignore_identical_ids=False)
    assert fa.audit_beir(QRELS, own, 500, "RR@10", n_boot=100).entries[0].score == 1.0
    assert kept.entries[0].score < 1.0
    with pytest.raises(FalsifyError, match="N is given twice"):
        fa.audit_beir(QRELS, RESULTS, CORPUS, pool=9)


@pytest.fixture
def beir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("qrels").mkdir()
    Path("qrels/test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t1\n" for q, docs in QRELS.items() for d in docs)
    )
    with gzip.open("corpus.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"_id": d, "title": "", "text": "t"}) + "\n" for d in CORPUS)
    Path("results.json").write_text(json.dumps(RESULTS))
    Path("run.txt").write_text("".join(f"{q} Q0 {d} 1 {s} x\n" for q, r in RESULTS.items() for d, s in r.items()))
    return tmp_path


@pytest.mark.usefixtures("beir")
def test_a_beir_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["audit", "beir", ".", "--run", "results.json", "--run", "run.txt", "--format", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["results"]
    assert first["score"] == second["score"] == 1.0
    assert first["pool"] == {"n": 500, "source": "file"}
    assert cli.run(["audit", "beir", ".", "--run", "run.txt", "-o", "gate.md"]) == 0
    assert Path("gate.md").read_text().startswith("### Four-null gate: PASS")
    capsys.readouterr()
    assert cli.run(["audit", "beir", ".", "--run", "run.txt", "--split", "dev"]) == 2
    assert "holds no qrels/dev.tsv. Legal: test." in capsys.readouterr().err
    Path("corpus.jsonl.gz").unlink()
    assert cli.run(["audit", "beir", ".", "--run", "run.txt"]) == 2
    assert "holds no corpus.jsonl" in capsys.readouterr().err
    assert cli.run(["audit", "beir", "none", "--run", "run.txt"]) == 2


def test_predictions_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path)
    qrels = tmp_path / "Made.txt"
    qrels.write_text("".join(f"{q} 0 {d} 1\n" for q, docs in QRELS.items() for d in docs))
    line = ["audit", "mteb", str(tmp_path), "--qrels", str(tmp_path / "{task}.txt"), "--pool", "500"]
    assert cli.run([*line, "-m", "RR@10", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (row["run"], row["measure"], row["score"]) == ("org/m Made test", "RR@10", 1.0)
    assert cli.run(["audit", "mteb", str(tmp_path)]) == 2
    assert "they are judged against qrels" in capsys.readouterr().err
    assert cli.run([*line[:4], "{nothing}"]) == 2
    assert "paths with {task}, {split}, {subset}" in capsys.readouterr().err

"""The examples run as they stand."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
RUNS = ["noise-seed0.run", "noise-seed1.run", "noise-seed2.run", "noise-seed3.run", "noise-seed4.run", "real.run"]


def run(name: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=60)


@pytest.fixture
def live() -> ModuleType:
    spec = importlib.util.spec_from_file_location("live_noise", EXAMPLES / "live_noise.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_live_noise_passes_both_checks(tmp_path: Path) -> None:
    done = run("live_noise.py", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([*RUNS, "qrels.txt"])
    command, report = done.stdout.split("\n\n", 1)
    assert command.startswith("falsify-adapters floor ")
    assert command.count("--noise ") == 5
    assert report.startswith("Noise floor: PASS\n")
    assert report.count("Check 1, is the noise where probability puts it? pass") == 2
    assert report.count("Check 2, is there room above the floor? pass") == 2


def test_live_noise_runs_without_the_package(
    live: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "falsify_adapters" not in vars(live)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert live.main(tmp_path) == 0
    out = capsys.readouterr().out
    assert out.startswith("falsify-adapters floor ")
    assert "is not installed" in out


def test_only_embed_has_to_change(
    live: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert live.main(tmp_path, encoder=lambda texts: np.array([[len(text), 1.0] for text in texts])) == 0
    assert capsys.readouterr().out
    assert len((tmp_path / "real.run").read_text(encoding="utf-8").splitlines()) == 60 * 100


def test_search_ranks_by_cosine(live: ModuleType) -> None:
    documents, queries = np.array([[2.0, 0.0], [0.0, 5.0], [1.0, 1.0]]), np.array([[0.0, 3.0], [0.0, 0.0]])
    order, score = live.search(documents, queries, 2)
    assert order.tolist() == [[1, 2], [0, 1]]
    assert score[0] == pytest.approx([1.0, 0.5**0.5])


def test_minilm_noise_passes_both_checks(shared: Path, tmp_path: Path) -> None:
    done = run("minilm_noise.py", tmp_path / "out", FALSIFY_SHARED=str(shared))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == RUNS
    assert "\nNoise floor: PASS\n" in done.stdout
    assert "pool 1400 documents (given)" in done.stdout


def test_minilm_noise_says_that_its_data_is_missing(tmp_path: Path) -> None:
    done = run("minilm_noise.py", tmp_path / "out", FALSIFY_SHARED=str(tmp_path))
    assert done.returncode == 0
    assert done.stdout.startswith(f"no reference data at {tmp_path}")
    assert not (tmp_path / "out").exists()


def test_one_word_adds_the_gate_to_a_trec_eval_script(shared: Path) -> None:
    data = shared / "data" / "corpora" / "cacm"
    runs = [str(data / "runs" / f"{name}.run.gz") for name in ("bm25-doc", "popularity-doc")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(EXAMPLES / "trec_eval_gate.sh"), str(data / "qrels.txt"), *runs],
        capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        f"{runs[0]} map 0.3578 PASS ndcg_cut_10 0.5043 PASS",
        f"{runs[1]} map 0.0824 FAIL ndcg_cut_10 0.1081 FAIL",
    ]
    assert done.returncode == 1


def test_the_scripts_exit_status_is_the_worst_of_its_runs(tmp_path: Path) -> None:
    (tmp_path / "eval").write_text("#!/bin/sh\nfor last; do :; done\nprintf 'map\\tall\\t0.1\\n'\nexit $last\n")
    (tmp_path / "eval").chmod(0o755)
    for runs, status in ((["0"], 0), (["1", "3", "0"], 1), (["3", "0"], 3), (["3", "1"], 1), (["0", "2", "1"], 2)):
        command = ["sh", str(EXAMPLES / "trec_eval_gate.sh"), "qrels", *runs]
        env = {**os.environ, "EVAL": str(tmp_path / "eval")}
        assert subprocess.run(command, env=env, capture_output=True, timeout=60).returncode == status


def test_the_action_gates_and_writes_a_summary(tmp_path: Path) -> None:
    text = (EXAMPLES / "github-actions" / "gate.yml").read_text(encoding="utf-8")
    step = yaml.safe_load(text)["jobs"]["gate"]
    (script,) = [s["run"] for s in step["steps"] if s.get("name") == "Four-null gate"]
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "qrels.txt").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(30)))
    for name, doc, status in (("good", "d{}", 0), ("cheat", "d1", 1)):
        rows = (f"q{i} Q0 {doc.format(i)} 1 2 {name}\n" for i in range(30))
        (tmp_path / "eval" / "run.txt").write_text("".join(rows))
        summary = tmp_path / f"{name}.md"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        variables = {**os.environ, **step["env"], "PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
        done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=variables, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        assert summary.read_text().startswith(f"### Four-null gate: {'PASS' if status == 0 else 'FAIL'}\n")
        assert (tmp_path / "gate.html").is_file()
        assert (tmp_path / "gate.xml").is_file()

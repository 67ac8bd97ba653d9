"""Large audits: processes, a Dask cluster that loses a worker, and stops at any moment."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.audit.find import find
from falsify_adapters.audit.judge import Context
from falsify_adapters.audit.sinks import Lines, Memory, Parts, frame
from falsify_adapters.audit.stats import Statistics
from falsify_adapters.audit.work import _Task, work
from falsify_adapters.errors import FalsifyError

FILES, BATCH = 120, 10


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of many results, some of them torn, and their statistics."""
    top = tmp_path_factory.mktemp("tree")
    for n in range(FILES):
        folder = top / "results" / f"org__m{n % 30:02}" / "rev"
        folder.mkdir(parents=True, exist_ok=True)
        entries = [
            {"hf_subset": s, "main_score": (n * 37 % 100) / 100, "map_at_1000": (n * 37 % 100) / 100} for s in "ab"
        ]
        text = json.dumps({"task_name": f"T{n // 30}", "scores": {"test": entries}})
        (folder / f"T{n // 30}.json").write_text(text[: 50 if n % 17 == 0 else None])
    numbers = {
        "num_documents": 9, "num_queries": 500,
        "relevant_docs_statistics": {"average_relevant_docs_per_query": 1.0, "max_relevant_docs_per_query": 1},
    }  # fmt: skip
    rows = [{"task": f"T{t}", "split": "test", "subset": s, **numbers} for t in range(4) for s in "ab"]
    (top / "stats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return top


def audit(tree: Path, **options: Any) -> Any:
    return fa.audit_mteb(str(tree / "results"), stats=str(tree / "stats.jsonl"), batch=BATCH, **options)


@pytest.fixture(scope="module")
def expected(tree: Path) -> list[Any]:
    return list(audit(tree).rows())


def test_there_is_something_of_everything(expected: list[Any]) -> None:
    assert {row["finding"] for row in expected} == {"below_chance", "indistinguishable", "above", "unknown"}
    assert len({row["path"] for row in expected}) == FILES


@pytest.mark.parametrize("name", ["parts", "lines.jsonl", None])
@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_are_the_same_however_they_were_made(
    tree: Path, expected: list[Any], tmp_path: Path, name: str | None, jobs: int
) -> None:
    output = None if name is None else str(tmp_path / name)
    report = audit(tree, output=output, jobs=jobs)
    assert report.rows() == expected
    assert report.to_dict(rows=False) == {**audit(tree).to_dict(rows=False)}


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file of an audit; lines sorted, for they stand in the order in which batches were done."""
    found = {p.name: p.read_bytes() for p in folder.iterdir() if not p.name.startswith(".")}
    return {
        name: b"".join(sorted(data.splitlines(True))) if name.endswith(".jsonl") else data
        for name, data in found.items()
    }


PROGRAM = """
import sys, time
import falsify_adapters as fa
from falsify_adapters.audit import work
real = work.judge
def slow(item, data, context):
    time.sleep(0.004)
    return real(item, data, context)
work.judge = slow
fa.audit_mteb(sys.argv[1] + "/results", stats=sys.argv[1] + "/stats.jsonl", output=sys.argv[2], resume=True, batch=10,
              progress=lambda *a: print(*a, flush=True))
"""


@pytest.mark.parametrize("name", ["parts", "lines.jsonl"])
def test_a_run_that_is_killed_again_and_again_ends_the_same(tree: Path, tmp_path: Path, name: str) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    whole.mkdir()
    torn.mkdir()
    audit(tree, output=str(whole / name))
    dice = random.Random(5)
    reported, kills = 0, 0
    for _ in range(40):
        command = [sys.executable, "-c", PROGRAM, str(tree), str(torn / name)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for line in iter(process.stdout.readline, ""):
            done = int(line.split()[1])
            assert done >= reported, "what was reported done is not lost"
            reported = done
            if done < FILES and dice.random() < 0.5:
                time.sleep(dice.random() * 0.04)
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
        process.stdout.close()
        if process.wait() == 0:
            break
    assert kills >= 3
    places = (whole / name, torn / name) if name == "parts" else (whole, torn)
    assert bytes_of(places[0]) == bytes_of(places[1])


def test_a_line_that_was_cut_off_is_dropped_with_its_batch(tree: Path, expected: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    audit(tree, output=str(path))
    data = path.read_bytes()
    for cut in (len(data) - 1, len(data) // 2, 10, 0):
        path.write_bytes(data[:cut])
        assert audit(tree, output=str(path), resume=True).rows() == expected
    path.write_bytes(b"not json\n" + data)
    assert audit(tree, output=str(path), resume=True).rows() == expected


def test_what_is_there_is_not_written_over(tree: Path, tmp_path: Path) -> None:
    for name in ("parts", "x.jsonl"):
        audit(tree, output=str(tmp_path / name))
        with pytest.raises(FalsifyError, match="--resume"):
            audit(tree, output=str(tmp_path / name))
        with pytest.raises(FalsifyError, match="was begun with another tau"):
            audit(tree, output=str(tmp_path / name), resume=True, tau=0.1)


def test_what_was_asked_for_has_to_be_known_and_the_same(tree: Path, tmp_path: Path) -> None:
    known = (tree / "stats.jsonl").read_text()
    stats = tmp_path / "stats.jsonl"
    for name, manifest in (("parts", "parts/manifest.json"), ("x.jsonl", "x.jsonl.manifest.json")):
        stats.write_text(known)
        options = {"stats": str(stats), "output": str(tmp_path / name)}
        fa.audit_mteb(str(tree / "results"), **options)
        stats.write_text(known.replace('"num_queries": 500', '"num_queries": 400'))
        with pytest.raises(FalsifyError, match="was begun with another statistics"):
            fa.audit_mteb(str(tree / "results"), resume=True, **options)
        for torn in ("", "[]"):
            (tmp_path / manifest).write_text(torn)
            with pytest.raises(FalsifyError, match="does not say what the rows beside it were asked for"):
                fa.audit_mteb(str(tree / "results"), resume=True, **options)


def test_places_that_cannot_grow(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(FalsifyError, match="lies in the tree that is audited"):
        audit(tree, output=str(tree / "results" / "out"))
    (tmp_path / "null.jsonl").symlink_to("/dev/null")
    with pytest.raises(FalsifyError, match="is no file that could grow"):
        audit(tree, output=str(tmp_path / "null.jsonl"))
    (tmp_path / "file").touch()
    with pytest.raises(FalsifyError, match="cannot be made"):
        audit(tree, output=str(tmp_path / "file" / "out"))
    with pytest.raises(FalsifyError, match="cannot be written: No such file or directory"):
        audit(tree, output=str(tmp_path / "none" / "x.jsonl"))


def test_a_process_that_is_killed_is_an_error_that_says_so(tree: Path) -> None:
    class Deadly(Memory):
        pack = staticmethod(lambda *_: os.kill(os.getpid(), signal.SIGKILL))

    found = find(str(tree / "results"))
    with pytest.raises(FalsifyError, match=r"--jobs: a worker was killed.*--resume"):
        work(found, Context(Statistics()), Deadly(), jobs=2, batch=BATCH)


def test_workers_have_to_see_the_files(tmp_path: Path) -> None:
    task = _Task(pickle.dumps((str(tmp_path / "none"), Context(Statistics()))), Memory.pack)
    with pytest.raises(FalsifyError, match="a worker sees no"):
        task((0, ["a.json"], None))


def test_a_batch_without_numbers_has_the_same_columns() -> None:
    names = ["model", "score", "floor", "queries", "doubts"]
    empty, full = dict.fromkeys(names), {"model": "m", "score": 0.5, "floor": [0.1, 0.2], "queries": 5, "doubts": ["x"]}
    assert frame([{**empty, "model": "m", "doubts": []}]).schema == frame([full]).schema


def test_the_command_line_goes_on(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["audit", "mteb", str(tree / "results"), "--stats", str(tree / "stats.jsonl"), "--batch", "10"]
    assert cli.run([*line, "-o", str(tmp_path / "out"), "--jobs", "2"]) == 0
    (tmp_path / "out" / "part-00003.parquet").unlink()
    assert cli.run([*line, "-o", str(tmp_path / "out"), "--resume"]) == 0
    assert len(list((tmp_path / "out").glob("*.parquet"))) == FILES // BATCH
    assert "scores in" in capsys.readouterr().err
    assert cli.run([*line, "-o", str(tmp_path / "out")]) == 2


def test_sinks_are_empty_at_first(tmp_path: Path) -> None:
    assert Parts(str(tmp_path / "p"), {}, resume=True).done() == set()
    assert Lines(str(tmp_path / "l.jsonl"), {}, resume=True).done() == set()


def test_a_scheduler_that_is_not_there(tree: Path) -> None:
    with pytest.raises(FalsifyError, match="no Dask scheduler answers"):
        audit(tree, cluster="tcp://127.0.0.1:9")


def test_a_dask_cluster_that_loses_a_worker(
    tree: Path, expected: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler and two workers of its own; one worker is killed while it works."""
    pytest.importorskip("distributed")
    address, env = tmp_path / "scheduler.json", {**os.environ, "DASK_DISTRIBUTED__DASHBOARD__LINK": ""}
    python, quiet = [sys.executable, "-m"], {"env": env, "stderr": subprocess.DEVNULL}
    scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    started = [subprocess.Popen([*python, *scheduler, "--scheduler-file", str(address)], **quiet)]
    try:
        for _ in range(200):
            if address.exists() and address.read_text().strip():
                break
            time.sleep(0.1)
        worker = ["distributed.cli.dask_worker", "--scheduler-file", str(address), "--no-dashboard", "--nworkers", "1"]
        worker += ["--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path)]
        started += [subprocess.Popen([*python, *worker], cwd=tmp_path, **quiet) for _ in range(2)]
        where = json.loads(address.read_text())["address"]

        def lose(_stage: str, done: int, _total: int) -> None:
            if done == 2 * BATCH:
                started[1].kill()

        monkeypatch.chdir(tree)  # which is not where the workers are
        options = {"stats": "stats.jsonl", "batch": BATCH, "cluster": where}
        report = fa.audit_mteb("results", output=str(tmp_path / "parts"), progress=lose, **options)
        assert report.rows() == expected
        assert started[1].poll() is not None
    finally:
        for process in started[::-1]:
            process.kill()
            process.wait()

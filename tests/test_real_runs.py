"""The gate on real runs: values computed independently, known traps, and what must not change a byte.

The data lies beside the project and is read where it is; without it these tests say so and are skipped. What they
hold is held on small made data in tests/core, tests/test_ranking.py and tests/test_grading.py.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import falsify_adapters as fa
from falsify_adapters.report.plain import to_json

BACKENDS = ("builtin", "ir_measures", "pytrec_eval", "ranx")


@pytest.fixture(scope="module")
def data(shared: Path) -> Path:
    return shared / "data"


def cases(shared: Path) -> dict[tuple[str, str, Any], list[dict[str, Any]]]:
    rows = json.loads((shared / "expected" / "gate.json").read_text())
    key = lambda r: (r["qrels"], r["run"], str(r["pool"]))  # noqa: E731
    return {k: list(g) for k, g in itertools.groupby(sorted(rows, key=key), key)}


@pytest.mark.parametrize("backend", BACKENDS)
def test_expected_values(shared: Path, data: Path, backend: str) -> None:
    """Score and nulls A, B, C within 1e-9, D within 5 joint standard errors, for every row, through every backend."""
    seen = 0
    for (qrels, run, _), rows in cases(shared).items():
        report = fa.gate(data / qrels, data / run, [r["measure"] for r in rows], pool=rows[0]["pool"], backend=backend)
        for row in rows:
            entry, means = report[row["measure"]], row["means"]
            assert entry.score == pytest.approx(row["score"], abs=1e-9), (run, row["measure"])
            assert entry.score_source == "backend"
            assert len(entry.queries) == row["queries"]
            for null in "ABC":
                assert entry.nulls[null].mean == pytest.approx(means[null], abs=1e-9), (run, row["measure"], null)
                assert entry.nulls[null].method == "exact"
            d = entry.nulls["D"]
            assert abs(d.mean - means["D"]) <= 5 * (row["d_se"] ** 2 + d.se**2) ** 0.5 + 1e-9, (run, row["measure"])
            seen += 1
    assert seen == 78


def codes(entry: Any) -> set[str]:
    return {flag.code for flag in entry.result.flags}


def gate_one(data: Path, qrels: str, run: str, measure: str = "nDCG@10", **options: Any) -> Any:
    return fa.gate(data / qrels, data / run, measure, backend="builtin", **options)[measure]


CRANFIELD = "corpora/cranfield/qrels.txt"
COVID = "trec-covid-r5/qrels.covid-round5.txt"


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR@10", "P@10", "R@100", "Success@5", "bpref", "ERR@20"])
def test_popularity_cheat_fails_and_a_is_zero(data: Path, measure: str) -> None:
    entry = gate_one(data, CRANFIELD, "corpora/cranfield/runs/popularity-doc.run.gz", measure, pool=1400)
    assert entry.verdict == "FAIL"
    assert abs(entry.score - entry.nulls["A"].mean) < 1e-12
    assert entry.nulls["A"].delta == 0.0
    assert "query_independent" in codes(entry)


def test_best_covid_run_passes_with_whole_gold_sets(data: Path) -> None:
    """Moving whole gold sets gives 0.8846, where replacing the top label alone gives 0.0008 and a FAIL."""
    entry = gate_one(data, COVID, "trec-covid-r5/runs/UPrrf102-wt-r5.run.gz", pool=191175)
    assert entry.verdict == "PASS"
    assert round(entry.score, 4) == 0.9119
    assert round(entry.nulls["A"].delta, 4) == 0.8846


def test_scores_against_the_ranks_are_said(data: Path) -> None:
    entry = gate_one(data, COVID, "trec-covid-r5/runs/uogTrDPH_QE_RF_SB_B.run.gz", pool=191175)
    assert round(entry.score, 4) == 0.1069
    assert "rank_contradicts_score" in codes(entry)
    assert any("50 of 50 queries" in f.message for f in entry.result.flags)


def test_wrong_round_fails_in_capitals(data: Path) -> None:
    qrels = "trec-covid-r5/qrels.covid-rounds1-4-cumulative.txt.gz"
    entry = gate_one(data, qrels, "trec-covid-r5/runs/UPrrf102-wt-r5.run.gz", pool=191175)
    assert (entry.score, entry.verdict) == (0.0, "FAIL")
    assert "nothing_judged" in codes(entry)
    assert any(f.message.startswith("NO RETRIEVED DOCUMENT IS JUDGED") for f in entry.result.flags)


def test_wrong_query_numbers_fail_and_the_unjoined_are_counted(data: Path) -> None:
    entry = gate_one(data, CRANFIELD, "corpora/cranfield/runs/bm25-doc-xml-numbers.run.gz", pool=1400)
    assert entry.verdict == "FAIL"
    assert len(entry.missing) == len(entry.ignored) == 73
    assert {"queries_missing", "queries_ignored"} <= codes(entry)


def test_shifted_queries_score_above_noise(data: Path) -> None:
    """Neighbouring queries are related, so answers filed under the next query beat the nulls, as the numbers say."""
    entry = gate_one(data, CRANFIELD, "corpora/cranfield/runs/bm25-doc-shifted-queries.run.gz", pool=1400)
    assert entry.verdict == "PASS"
    assert round(entry.score, 4) == 0.0771
    assert all(0.05 < null.delta < 0.08 for null in entry.nulls.values())


def test_constant_scores_over_the_whole_pool_fail(data: Path) -> None:
    docs = (data / "corpora/cranfield/doc_ids.txt").read_text().split()
    queries = {line.split()[0] for line in (data / CRANFIELD).read_text().splitlines()}
    run = {q: dict.fromkeys(docs, 1.0) for q in queries}
    entry = fa.gate(data / CRANFIELD, run, "nDCG@10", pool=1400, backend="builtin")["nDCG@10"]
    assert entry.verdict == "FAIL"
    assert "no_signal_in_ties" in codes(entry)


def test_constant_scores_over_candidate_lists_fail(data: Path) -> None:
    """Here no two lists are alike, so only null C can see that the order is the tie rule's."""
    run: dict[str, dict[str, float]] = {}
    for line in (data / "corpora/cranfield/pool8/bm25.run").read_text().splitlines():
        query, _, doc, *_ = line.split()
        run.setdefault(query, {})[doc] = 1.0
    qrels = data / "corpora/cranfield/pool8/qrels.pool8.txt"
    entry = fa.gate(qrels, run, "nDCG@10", pool="run", backend="builtin")["nDCG@10"]
    assert entry.verdict == "FAIL"
    assert entry.nulls["C"].verdict == "fail"
    assert "no_signal_in_ties" in codes(entry)
    assert "null_toothless" in codes(entry)


def test_two_tags_on_one_run_are_one_witness(data: Path) -> None:
    runs = [data / f"trec-covid-r5/runs/DoRA_{tag}_1k.run.gz" for tag in ("MSMARCO", "NO_Judgments")]
    report = fa.gate(data / COVID, runs, "nDCG@10", pool=191175, backend="builtin")
    assert all("identical_runs" in codes(entry) for entry in report)


def test_nothing_but_the_input_moves_a_number(data: Path, tmp_path: Path) -> None:
    """Order of lines, hash seed, processes and company: the same results to the last bit."""
    qrels, run = data / COVID, data / "trec-covid-r5/runs/sab20.5.4.dfo.run.gz"
    measures = ["nDCG@10", "AP", "bpref", "RR@10"]
    options: dict[str, Any] = {"pool": 191175, "backend": "pytrec_eval"}
    plain = fa.gate(qrels, run, measures, **options).to_dict()["results"]
    alone = [fa.gate(qrels, run, m, **options).to_dict()["results"][0] for m in measures]
    assert to_json(plain) == to_json(alone)
    shuffle = random.Random(7)
    moved = []
    for name, text in (("q.txt", qrels.read_text()), ("r.txt", gzip.decompress(run.read_bytes()).decode())):
        lines = text.splitlines(keepends=True)
        shuffle.shuffle(lines)
        (tmp_path / name).write_text("".join(lines))
        moved.append(str(tmp_path / name))
    command = [sys.executable, "-m", "falsify_adapters", "gate", *moved, "--pool", "191175", "--format", "json"]
    command += ["--backend", "pytrec_eval", "--jobs", "2", *(x for m in measures for x in ("-m", m))]
    for seed in ("1", "4242"):
        done = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | {"PYTHONHASHSEED": seed}, check=True
        )
        other = json.loads(done.stdout)["results"]
        for row in (*other, *plain):
            row.update(run="", path="", sha256="")
        assert other == json.loads(to_json(plain))

"""Cases from the public record of evaluating retrieval: one test each, named after the kind (docs/cases.md)."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.core.significance import holm, p_values
from falsify_adapters.errors import FalsifyError
from falsify_adapters.measures import parse
from falsify_adapters.readers import read_qrels, read_run

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
ROOT = Path(__file__).resolve().parents[1]


def report(qrels: Any, run: Any, measures: Any = "RR", **options: Any) -> Any:
    return fa.gate(qrels, run, measures, **{"n_boot": 100, "backend": "builtin", **options})


def score(qrels: Any, run: Any, measure: str = "RR", **options: Any) -> float:
    return float(report(qrels, run, measure, **options).entries[0].score)


def codes(made: Any) -> set[str]:
    return {flag.code for entry in made for flag in entry.flags}


def refused(*words: str, **call: Any) -> str:
    with pytest.raises(FalsifyError) as caught:
        report(**call)
    for word in words:
        assert word in str(caught.value), str(caught.value)
    return str(caught.value)


def written(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


# --- A. Ties and ordering ---


@pytest.mark.parametrize("backend", ["builtin", "ir_measures", "pytrec_eval", "ranx"])
def test_case_01_one_order_for_every_measure(backend: str) -> None:
    made = report({"q": {"b": 1}}, {"q": {"b": 1.0, "c": 1.0}}, ["RR", "RR@10", "P@1"], backend=backend)
    assert [entry.score for entry in made] == [0.5, 0.5, 0.0]


def test_case_02_ties_are_trec_evals_and_contradicting_ranks_are_said(tmp_path: Path) -> None:
    qrels = {"q": {"b": 1}}
    assert score(qrels, {"q": {"b": 1.0, "a": 1.0}}, "nDCG") == 1.0
    assert score(qrels, {"q": {"b": 1.0, "c": 1.0}}, "nDCG") == pytest.approx(0.6309, abs=5e-5)
    assert score(qrels, {"q": {"b": 1.0, "c": 1.0}}, "nDCG", ties="input") == 1.0
    run = written(tmp_path, "r", "".join(f"q Q0 d{r} {r} {r}.0 t\n" for r in range(1, 12)))
    assert "rank_contradicts_score" in codes(report({"q": {"d1": 1}}, run))


def test_case_03_a_constant_scorer_is_told_and_fails() -> None:
    qrels = {f"q{i}": {f"a{i}": 1} for i in range(20)}
    run = {q: dict.fromkeys([*docs, *(f"x{j}" for j in range(9))], 0.5) for q, docs in qrels.items()}
    made = report(qrels, run, "RR@10", pool="run")
    assert made.verdict == "FAIL"
    assert "no_signal_in_ties" in codes(made)
    averaged = report(qrels, run, "RR@10", pool="run", ties="expected").entries[0]
    assert averaged.score == pytest.approx(averaged.result.floor, abs=1e-12)
    assert score({"q": {"a": 1}}, {"q": dict.fromkeys("abc", 0.5)}, ties="expected") == pytest.approx(11 / 18)


def test_case_04_ties_are_averaged_on_request_and_their_span_is_shown() -> None:
    run = {"q": dict.fromkeys("defg", 3.0)}
    entry = report({"q": {"d": 1}}, run, ties="expected").entries[0]
    assert entry.score == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert entry.result.tie_span == (0.25, 1.0)


def test_case_05_many_tied_documents_reach_no_backend_tied() -> None:
    for n in (17, 1000):
        run = {"q": {f"d{i:04}": 1.0 for i in range(n)}}
        for ties, expected in (("input", 1.0), ("trec", 1 / n)):
            assert score({"q": {"d0000": 1}}, run, backend="ranx", ties=ties) == pytest.approx(expected)


@pytest.mark.parametrize(("a", "b"), [(0.9750000002, 0.9750000001), (16777217.0, 16777216.0), (1e-50, 1e-60)])
def test_case_06_scores_that_collapse_as_32_bit_floats_are_said(a: float, b: float) -> None:
    made = report({"q": {"a": 1}}, {"q": {"a": a, "b": b}})
    assert made.entries[0].score == 0.5
    assert "scores_beyond_float32" in codes(made)


def test_case_08_the_order_of_lines_moves_nothing() -> None:
    lists = {f"q{i}": {f"d{j}": float(j // 10) for j in range(30)} for i in range(8)}
    qrels = {q: {f"d{int(q[1:])}": 1} for q in lists}
    rng = np.random.default_rng(1)
    turned = {q: {d: lists[q][d] for d in rng.permutation(list(lists[q]))} for q in rng.permutation(list(lists))}
    first, second = (report(qrels, run, ["RR", "nDCG@5"]).to_dict()["results"] for run in (lists, turned))
    assert first == second


def test_case_09_the_query_is_dropped_by_its_id_not_by_its_place() -> None:
    for order in (("q", "dup", "x"), ("dup", "q", "x")):
        run = {"q": {d: {"q": 1.0, "dup": 1.0, "x": 0.2}[d] for d in order}}
        assert score({"q": {"dup": 1}}, run, "nDCG@1", drop_self=True) == 1.0


# --- B. Which queries are in the mean ---


def test_case_11_a_query_without_an_answer_scores_0_and_is_counted() -> None:
    qrels, run = {"q1": {"b": 1}, "q2": {"a": 1}}, {"q1": {"b": 1.0}}
    made = report(qrels, run, "nDCG")
    assert made.entries[0].score == 0.5
    assert made.to_dict()["results"][0]["queries"] == {"judged": 2, "missing": 1, "ignored": 0, "without_gold": 0}
    assert "queries_missing" in codes(made)
    assert score(qrels, run, "nDCG", queries="both") == 1.0


@pytest.mark.parametrize("backend", ["builtin", "ir_measures", "pytrec_eval", "ranx"])
def test_case_12_a_query_without_gold_scores_0_and_is_counted(backend: str) -> None:
    made = report({"q1": {"b": 0}, "q2": {"a": 1}}, {"q1": {"b": 1.0}, "q2": {"a": 1.0}}, "nDCG", backend=backend)
    assert made.entries[0].score == 0.5
    assert made.to_dict()["results"][0]["queries"]["without_gold"] == 1
    assert made.entries[0].result.ceiling == 0.5


def test_case_14_queries_may_be_named(tmp_path: Path) -> None:
    qrels: Qrels = {f"q{i}": {"d": 1} for i in range(5)}
    run: Run = {"q1": {"d": 1.0}}
    assert score(qrels, run) == 0.2
    assert score(qrels, run, queries="both") == 1.0
    assert score(qrels, run, queries_file=written(tmp_path, "f", "q1\n")) == 1.0


def test_case_15_sets_of_queries_that_differ_are_aligned_and_named() -> None:
    made = report({"q1": {"d": 1}, "q2": {"d": 1}}, {"q1": {"d": 1.0}, "q9": {"d": 1.0}}, backend="ranx")
    said = " ".join(flag.message for flag in made.entries[0].flags)
    assert "q2" in said
    assert "q9" in said


def test_case_17_a_run_that_never_ran_is_an_error(tmp_path: Path) -> None:
    refused("no data lines", qrels={"q": {"d": 1}}, run=written(tmp_path, "r", ""))
    with pytest.raises(FalsifyError):
        fa.compare({"q": {"d": 1}, "p": {"d": 1}}, [{"q": {"d": 1.0}}, {}])


def test_case_19_differences_are_joined_by_query() -> None:
    a, b = {"q1": {"d": 1.0}, "q2": {"x": 1.0}}, {"q2": {"x": 1.0}, "q1": {"d": 1.0}}
    made = fa.compare({"q1": {"d": 1}, "q2": {"d": 1}}, [a, b], "RR", n_boot=100)
    (row,) = made.data["comparisons"]
    assert (row["delta"], row["p"], row["tie"]) == (0.0, None, 2)


# --- C. Duplicates, chunks, documents ---


def test_case_20_a_document_twice_is_an_error_or_its_best(tmp_path: Path) -> None:
    run = written(tmp_path, "r", "q Q0 d1 1 9 t\nq Q0 d2 2 8 t\nq Q0 d1 3 7 t\n")
    refused("'d1'", "'q'", "lines 1 and 3", "--duplicates best", qrels={"q": {"d1": 1}}, run=run)
    made = report({"q": {"d1": 1}}, run, duplicates="best")
    assert made.entries[0].score == 1.0
    assert "duplicates_removed" in codes(made)


def test_case_21_judgments_that_repeat_are_counted_and_contradictions_refused(tmp_path: Path) -> None:
    run = {"q": {"d": 1.0}}
    assert "duplicate_judgments" in codes(report(written(tmp_path, "a", "q 0 d 1\nq 0 d 1\n"), run))
    for n, text in enumerate(("q 0 d 1\nq 0 d 0\n", "q 0 d 0\nq 0 d 1\n")):
        refused("'d'", "line", qrels=written(tmp_path, f"b{n}", text), run=run)


def test_case_22_chunks_of_one_document_are_one_hit() -> None:
    run = {"q": {"A#1": 3.0, "A#2": 2.0}}
    for measure in ("R@2", "nDCG@2", "AP"):
        assert score({"q": {"A": 1}}, run, measure, unit_sep="#") == 1.0
    assert score({"q": {"A": 1, "B": 1}}, run, "R@2", unit_sep="#") == 0.5


def test_case_23_chunks_are_collapsed_before_the_cutoff() -> None:
    chunks = [*(f"d1#{i}" for i in range(9)), "d2#0", "d3#0"]
    run = {"q": {c: float(20 - i) for i, c in enumerate(chunks)}}
    assert score({"q": {"d3": 1}}, run, "R@3", unit_sep="#") == 1.0
    assert "short_lists" in codes(report({"q": {"d3": 1}}, run, "R@10", unit_sep="#", pool=50))


def test_case_25_the_floor_counts_documents() -> None:
    run = {"q": {f"d{i % 11}#{i}": float(-i) for i in range(20)}}
    entry = report({"q": {"d0": 1}}, run, "R@20", unit_sep="#", pool=13).entries[0]
    assert entry.result.floor == pytest.approx(11 / 13)


def test_case_26_a_document_counts_by_its_best_chunk_and_the_report_says_so() -> None:
    made = report({"q": {"d2": 1}}, {"q": {"d1#0": 1.0, "d1#1": 1.0, "d1#2": 1.0, "d2#0": 2.0}}, "P@1", unit_sep="#")
    assert made.entries[0].score == 1.0
    assert "MaxP" in " ".join(flag.message for flag in made.entries[0].flags)


# --- D. Self matches ---


def test_case_28_self_matches_are_noticed_and_dropped_on_request() -> None:
    qrels = {f"d{i}": {f"d{i + 50}": 1} for i in range(10)}
    run = {f"d{i}": {f"d{i}": 9.0, f"d{i + 50}": 5.0} for i in range(10)}
    made = report(qrels, run, "nDCG")
    assert made.entries[0].score == pytest.approx(0.6309, abs=5e-5)
    assert "self_matches" in codes(made)
    assert score(qrels, run, "nDCG", drop_self=True) == 1.0


def test_case_29_a_document_judged_relevant_is_never_dropped_in_silence() -> None:
    qrels, run = {"0": {"0": 1, "1": 1}}, {"0": {"0": 2.0, "1": 1.0}}
    assert score(qrels, run, "R@10") == 1.0
    refused("judged relevant", "leave --drop-self out", qrels=qrels, run=run, drop_self=True)


def test_case_32_saved_predictions_can_drop_the_query_itself(tmp_path: Path) -> None:
    lists = {f"d{i}": {f"d{i}": 1.0, f"d{i + 7}": 0.4} for i in range(6)}
    written(tmp_path, "T_predictions.json", json.dumps({"default": {"test": lists}}))
    qrels = written(tmp_path, "q", "".join(f"d{i} 0 d{i + 7} 1\n" for i in range(6)))

    def load(*_: str) -> tuple[str, int]:
        return qrels, 50

    plain = fa.audit_predictions(str(tmp_path), load, "RR", n_boot=100)
    assert plain.entries[0].score == 0.5
    assert "self_matches" in codes(plain)
    assert fa.audit_predictions(str(tmp_path), load, "RR", n_boot=100, drop_self=True).entries[0].score == 1.0


# --- E. Relevance grades ---


def test_case_33_the_level_is_part_of_a_measures_name() -> None:
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    assert score(qrels, run, "AP") == 1.0
    made = report(qrels, run, "AP", rel=2)
    assert (made.entries[0].score, str(made.entries[0].measure)) == (0.5, "AP(rel=2)")
    assert score(qrels, run, "AP(rel=2)") == 0.5


def test_case_34_ndcg_has_no_level() -> None:
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    for backend in ("builtin", "pytrec_eval"):
        assert score(qrels, run, "nDCG", rel=2, backend=backend) == pytest.approx(0.8597, abs=5e-5)
    with pytest.raises(FalsifyError):
        parse("nDCG(rel=2)@10")


@pytest.mark.parametrize("backend", ["builtin", "ranx"])
def test_case_35_two_gains_have_two_names(backend: str) -> None:
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    assert score(qrels, run, "nDCG@10", backend=backend) == pytest.approx(0.8597, abs=5e-5)
    assert score(qrels, run, "nDCG(dcg='exp-log2')@10", backend=backend) == pytest.approx(0.7967, abs=5e-5)


def test_case_37_negative_grades_gain_nothing_and_are_said() -> None:
    qrels, run = {"q": {"a": -1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    made = report(qrels, run, ["P@1", "nDCG", "bpref"])
    assert [entry.score for entry in made] == [0.0, pytest.approx(0.6309, abs=5e-5), 1.0]
    assert "negative_grades" in codes(made)
    assert made.entries[0].result.judged_at_k == 1.0


def test_case_38_grades_are_whole_or_refused() -> None:
    run = {"q": {"a": 2.0, "b": 1.0}}
    assert score({"q": {"a": 1.0, "b": np.int64(2)}}, run, "nDCG") == pytest.approx(0.8597, abs=5e-5)
    refused("0.5", qrels={"q": {"a": 0.5, "b": 1.0}}, run=run)


def test_case_39_click_counts_are_no_grades() -> None:
    refused("100000", "1000", qrels={"q": {"a": 100_000}}, run={"q": {"a": 1.0}})


@pytest.mark.parametrize("level", [0, -1])
def test_case_40_a_level_is_1_or_more(level: int) -> None:
    refused("1", qrels={"q": {"a": 1}}, run={"q": {"a": 1.0}}, measures="AP", rel=level)


def test_case_42_the_judged_share_stands_beside_every_measure() -> None:
    made = report({"q": {"b": 1}}, {"q": {"z": 2.0, "b": 1.0}}, "nDCG@2")
    assert made.to_dict()["results"][0]["judged_at_k"] == 0.5


# --- F. Names and cutoffs ---


def test_case_43_a_cutoff_is_never_ignored() -> None:
    run = {"q": {f"d{i:02}": float(-i) for i in range(20)}}
    for name in ("RR@10", "mrr@10", "mrr_at_10"):
        assert score({"q": {"d11": 1}}, run, name) == 0.0
    for name in ("recip_rank.10", "bpref.3", "Rprec.5", "set_P.5"):
        with pytest.raises(FalsifyError):
            parse(name)


@pytest.mark.parametrize("name", ["ndcg.10", "P.0", "ndcg_cut.0", "P_-1", "ndcg_cut_1e3", "P"])
def test_case_44_no_spelling_ends_the_process(name: str) -> None:
    call = f"fa.gate({{'q': {{'a': 1}}}}, {{'q': {{'a': 1.0}}}}, {name!r}, backend='pytrec_eval')"
    code = f"import falsify_adapters as fa\n{call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), "an exception or a value, and no signal"
    assert done.returncode == 0 or "MeasureError" in done.stderr


@pytest.mark.parametrize("name", ["ndcg_cut_10", "ndcg_cut.10", "nDCG@10", "ndcg@10", "NDCG@10", "ndcg_at_10"])
def test_case_45_every_spelling_is_one_measure(name: str) -> None:
    assert str(parse(name)) == "nDCG@10"
    with pytest.raises(FalsifyError, match="nDCG"):
        parse("ndgc@10")


@pytest.mark.parametrize("backend", ["builtin", "ir_measures"])
def test_case_46_err_does_not_depend_on_what_queries_are_called(backend: str) -> None:
    for query in ("wt-1", "q", "1"):
        value = score({query: {"a": 1, "b": 2}}, {query: {"a": 2.0, "b": 1.0}}, "ERR@10", backend=backend)
        assert value == pytest.approx(0.1504, abs=6e-5)


def test_case_47_who_does_not_compute_a_measure_is_told_with_the_cure() -> None:
    said = refused("alpha_nDCG", qrels={"q": {"a": 1}}, run={"q": {"a": 1.0}}, measures="alpha_nDCG@10")
    assert "it needs judgments by subtopic" in said
    assert "use nDCG" in said
    rbp = {"qrels": {"q": {"a": 1}}, "run": {"q": {"a": 1.0}}, "measures": "RBP(p=0.8)", "backend": "pytrec_eval"}
    assert re.search(r"--backend (builtin|ir_measures)", refused("RBP", **rbp))


def test_case_49_denominators_are_trec_evals() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0}}
    assert [entry.score for entry in report(qrels, run, ["AP@1", "P@5"], pool=50)] == [0.5, 0.2]
    assert "short_lists" in codes(report(qrels, run, "P@5", pool=50))


def test_case_51_the_second_call_is_as_the_first() -> None:
    qrels, run = {"q": {"a": 1, "c": 1}}, {"q": {c: float(-i) for i, c in enumerate("xabyc")}}
    first, second = (report(qrels, run, ["nDCG@5", "nDCG@20"], backend="ir_measures").to_dict() for _ in range(2))
    assert first == second
    assert [row["measure"] for row in first["results"]] == ["nDCG@5", "nDCG@20"]


# --- G. Files and types ---


def test_case_52_columns_are_counted_with_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path, "r", "q Q0 d 1 2.0 t\nq Q0 doc\n")
    said = refused("line 2", "r", "Legal", qrels={"q": {"d": 1}}, run=path)
    assert path in said
    assert score({"q": {"d": 1}}, written(tmp_path, "m", "q\td\t1\nq\te\t2\n")) == 1.0


def test_case_53_tabs_blanks_and_line_ends_are_all_read(tmp_path: Path) -> None:
    path = written(tmp_path, "r", "q\tQ0\td\t1\t2.0\tt\r\n\r\nq  Q0   e 2  1.0 t\n")
    assert score({"q": {"d": 1}}, path) == 1.0
    odd = written(tmp_path, "n", "q Q0 d\u00a01 1 2.0 t\n")
    assert score({"q": {"d\u00a01": 1}}, odd) == 1.0


def test_case_54_a_byte_order_mark_is_no_part_of_an_id(tmp_path: Path) -> None:
    path = written(tmp_path, "r", b"\xef\xbb\xbfq1 Q0 d 1 1.0 t\n")
    assert score({"q1": {"d": 1}}, path) == 1.0


def test_case_56_paths_and_generators_are_read_and_nothing_is_an_error(tmp_path: Path) -> None:
    import ir_measures

    path = Path(written(tmp_path, "r", "q Q0 d 1 1.0 t\n"))
    assert score({"q": {"d": 1}}, path) == 1.0
    rows = (ir_measures.ScoredDoc("q", "d", 1.0) for _ in range(1))
    assert score({"q": {"d": 1}}, rows) == 1.0
    refused("", qrels={"q": {"d": 1}}, run=rows)  # exhausted: nothing was read


def test_case_57_whole_numbers_are_ids_and_padded_ones_are_others() -> None:
    made = report({"1": {"7": 1}}, {1: {7: 1.0}})
    assert made.entries[0].score == 1.0
    assert "ids_written_as_text" in codes(made)
    refused("no document", qrels={"1": {"007": 1}}, run={1: {7: 1.0}})
    frame = pd.DataFrame({"query_id": [1.5], "doc_id": ["d"], "score": [1.0]})
    refused("1.5", qrels={"1": {"d": 1}}, run=frame)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_case_59_a_score_is_finite_or_refused_with_its_place(tmp_path: Path, value: str) -> None:
    path = written(tmp_path, "r", f"q Q0 a 1 1.0 t\nq Q0 c 2 {value} t\n")
    refused("line 2", qrels={"q": {"a": 1}}, run=path)


@pytest.mark.parametrize("doc", ["a\udcff", "a\0b", "", "a b"])
def test_case_60_ids_that_a_c_library_cannot_hold_never_reach_one(doc: str) -> None:
    qrels, run = {"q": {doc: 1, "z": 1}}, {"q": {doc: 2.0, "z": 1.0}}
    call = f"fa.gate({qrels!r}, {run!r}, 'RR', backend='pytrec_eval').entries[0].score"
    code = f"import falsify_adapters as fa\nprint({call})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1)
    assert done.stdout.strip() == "1.0" or "InputError" in done.stderr


def test_case_62_large_runs_are_read_as_columns() -> None:
    n, depth = 300, 100
    queries, docs = np.repeat([f"q{i}" for i in range(n)], depth), [f"d{i}" for i in range(n * depth)]
    run = pd.DataFrame({"query_id": queries, "doc_id": docs, "score": np.tile(np.arange(depth, 0, -1.0), n)})
    assert score({f"q{i}": {f"d{i * depth}": 1} for i in range(n)}, run) == 1.0


def test_case_63_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = "import sys, falsify_adapters.cli\nprint([m for m in ('ranx', 'numba', 'polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_case_64_the_kernels_need_no_backend() -> None:
    code = """
import sys
for name in ("pytrec_eval", "ir_measures", "ranx"):
    sys.modules[name] = None
import falsify_adapters as fa
qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
print(fa.gate(qrels, run, "RR", backend="builtin").entries[0].score)
try:
    fa.gate(qrels, run, "RR")
except Exception as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("1.0\n"), done.stderr
    assert "pip install" in done.stdout


def test_case_65_names_are_parsed_here() -> None:
    call = "import falsify_adapters.measures as m\nprint(m.parse('nDCG@10'))"
    code = f"import sys\nsys.modules['ir_measures'] = None\n{call}"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "nDCG@10\n"


# --- H. Chance level, significance, gates ---


def test_case_69_a_small_pool_has_a_high_floor() -> None:
    two, five = {"q": {"a": 1}}, {"q": {"a": 1, "b": 1}}
    expected = [("RR", two, 2, 0.75), ("nDCG", two, 2, 0.8155), ("AP", two, 2, 0.75), ("AP", five, 5, 0.5925),
                ("RR", five, 5, 0.6417), ("nDCG", five, 5, 0.7231)]  # fmt: skip
    for measure, qrels, n, value in expected:
        assert fa.floor(qrels, measure, pool=n)[measure]["expected"] == pytest.approx(value, abs=5e-5)


def test_case_70_the_floor_stands_beside_the_score() -> None:
    run = {"q": {f"d{i}": float(-i) for i in range(5)}}
    (row,) = report({"q": {"d0": 1}}, run, "Success@3", pool=5).to_dict()["results"]
    assert row["floor"] == pytest.approx(0.6)
    assert row["chance_corrected"] == 1.0


def test_case_71_the_popularity_ranker_leaves_each_query_out() -> None:
    qrels = {f"q{i}": {"p" if i < 60 else f"d{i}": 1} for i in range(100)}
    run = {q: {"p": 1.0} for q in qrels}
    made = report(qrels, run, "P@1", pool=1000)
    assert made.entries[0].score == 0.6
    assert made.entries[0].result.popularity == pytest.approx(0.6)
    assert made.verdict == "FAIL"
    single = report({f"q{i}": {f"d{i}": 1} for i in range(9)}, {f"q{i}": {f"d{i}": 1.0} for i in range(9)}, "P@1")
    assert single.entries[0].result.popularity == 0.0


def test_case_73_holm_leaves_what_is_no_test_out() -> None:
    assert np.array_equal(holm([math.nan, 0.01, 0.04]), [math.nan, 0.02, 0.04], equal_nan=True)


def test_case_74_few_queries_give_no_pass() -> None:
    for n in (1, 2, 3, 4):
        qrels = {f"q{i}": {f"d{i}": 1} for i in range(n)}
        made = report(qrels, {f"q{i}": {f"d{i}": 1.0} for i in range(n)}, "RR", pool=1000)
        assert made.verdict == "UNDER-NS"
        assert made.entries[0].nulls["C"].ci95 is None
        assert made.entries[0].nulls["C"].p > 0
    values = np.array([[0.1, 0.2], [0.5, 0.6]])
    assert p_values("fisher", values, 1000, np.random.default_rng(0))[0, 1] == 0.5  # 2 of 4 assignments


def test_case_75_values_of_every_query_and_intervals_are_kept(tmp_path: Path) -> None:
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(50)}
    made = report(qrels, {q: {d: 1.0 for d in docs} for q, docs in qrels.items()}, "RR", pool=1000)
    made.save_per_query(tmp_path / "q.csv")
    assert len((tmp_path / "q.csv").read_text().splitlines()) == 51
    assert made.entries[0].nulls["C"].ci95 is not None
    assert fa.power(qrels, "RR", pool=1000)["RR"]["gap"] > 0


def test_case_78_the_record_names_its_files_by_digest(tmp_path: Path) -> None:
    qrels, run = written(tmp_path, "q", "q 0 d 1\n"), written(tmp_path, "r", "q Q0 d 1 1.0 t\n")
    made = report(qrels, run).to_dict()
    assert re.fullmatch("[0-9a-f]{64}", made["qrels"]["sha256"])
    assert re.fullmatch("[0-9a-f]{64}", made["results"][0]["sha256"])


def test_case_79_findings_are_read_by_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels = written(tmp_path, "q", "".join(f"q{i} 0 d1 1\n" for i in range(9)))
    run = written(tmp_path, "r", "".join(f"q{i} Q0 d{r} {r} {r}.5 t\n" for i in range(9) for r in range(1, 4)))
    assert cli.run(["gate", qrels, run, "-m", "RR", "--backend", "builtin", "--format", "json"]) == 1
    flags = json.loads(capsys.readouterr().out)["results"][0]["flags"]
    assert {"query_independent", "rank_contradicts_score"} <= {flag["code"] for flag in flags}
    assert read_qrels(qrels).queries == read_run(run).queries


# --- The page ---


def test_the_page_lists_every_case_with_its_test() -> None:
    here = {n: name for name, n in re.findall(r"^def (test_case_(\d+)_\w+)", Path(__file__).read_text(), re.MULTILINE)}
    rows = re.findall(r"^\| (\d+) \|.*\| `(test_case_\w+)` \|$", (ROOT / "docs" / "cases.md").read_text(), re.MULTILINE)
    assert {f"{int(n):02}": name for n, name in rows} == here
    assert len(here) == 57

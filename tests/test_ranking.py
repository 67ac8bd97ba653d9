"""Ranking against a plain reference on lists and dicts, against trec_eval itself, and its messages word by word."""

from __future__ import annotations

import io
import itertools
import random
import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import falsify_adapters as fa
from falsify_adapters.core.gate import kernel_grade, own_values
from falsify_adapters.errors import InputError
from falsify_adapters.measures import parse
from falsify_adapters.model import Lists
from falsify_adapters.ranking import Coded, Ranked, code_qrels, rank
from falsify_adapters.readers import read_qrels, read_run

Line = tuple[str, str, float, int]  # query, document, score, the rank as written


# --- the reference: SPEC, section 1, one plain step after the other ---------------------------------------------------


@dataclass
class Ranking:
    """lists: query -> [(document, score as float32, score, written rank)], best first, queries of the qrels only."""

    lists: dict[str, list[tuple[str, float, float, int]]]
    missing: list[str]
    ignored: list[str]


def float32(score: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", score))[0]
    except OverflowError:
        return float("inf") if score > 0 else float("-inf")


def reference(
    lines: Sequence[Line],
    qrels: dict[str, dict[str, int]],
    *,
    ties: str = "trec",
    duplicates: str = "error",
    depth: int | None = None,
    drop_self: bool = False,
) -> Ranking | None:
    """The ranking, or None where it has to be an error."""
    by_query: dict[str, list[tuple[str, float, float, int]]] = defaultdict(list)
    for query, doc, score, written in lines:
        by_query[query].append((doc, float32(score), score, written))
    missing = [q for q in sorted(qrels, key=str.encode) if q not in by_query]
    ignored = [q for q in sorted(by_query, key=str.encode) if q not in qrels]
    if len(missing) == len(qrels):
        return None
    result: dict[str, list[tuple[str, float, float, int]]] = {}
    for query in qrels:
        rows = by_query.get(query, [])
        if drop_self:
            if any(doc == query for doc, *_ in rows) and qrels[query].get(query, 0) > 0:
                return None
            rows = [row for row in rows if row[0] != query]
        if ties == "trec":  # two stable sorts: the last one counts most
            rows = sorted(rows, key=lambda row: row[0].encode(), reverse=True)
        rows = sorted(rows, key=lambda row: -row[1])
        best: dict[str, tuple[str, float, float, int]] = {}
        for row in rows:
            first = best.setdefault(row[0], row)
            if first[2] != row[2] and duplicates == "error":
                return None
        result[query] = list(best.values())
    judged = {doc for docs in qrels.values() for doc in docs}
    if not any(row[0] in judged for rows in result.values() for row in rows):
        return None
    return Ranking({q: rows[:depth] for q, rows in result.items()}, missing, ignored)


def as_lists(ranking: Ranking, qrels: dict[str, dict[str, int]]) -> dict[str, object]:
    """The fields of `Lists`, from the reference."""
    code = {doc: i for i, doc in enumerate(sorted({d for docs in qrels.values() for d in docs}, key=str.encode))}
    fields: dict[str, list[int]] = {name: [] for name in ("rank", "doc", "tie_first", "tie_last")}
    depth, start, first_tie, whole = [], [0], [], []
    for query in sorted(qrels, key=str.encode):
        singles = [single for _, single, *_ in ranking.lists[query]]
        depth.append(len(singles))
        for place, (doc, single, *_) in enumerate(ranking.lists[query], start=1):
            if doc not in code:
                continue
            tied = [r for r, other in enumerate(singles, start=1) if other == single]
            fields["rank"].append(place)
            fields["doc"].append(code[doc])
            fields["tie_first"].append(tied[0])
            fields["tie_last"].append(tied[-1])
        start.append(len(fields["rank"]))
        first_tie.append(next((r for r, (a, b) in enumerate(itertools.pairwise(singles), start=1) if a == b), 0))
        if len(singles) > 1:
            whole.append(len(set(singles)) == 1)
    return {**fields, "depth": depth, "start": start, "first_tie": first_tie, "all_tied": bool(whole) and all(whole)}


# --- the code under test ---------------------------------------------------------------------------------------------


def coded(qrels: dict[str, dict[str, int]]) -> Coded:
    return code_qrels(read_qrels(qrels))


def run_text(lines: Iterable[Line]) -> io.StringIO:
    return io.StringIO("".join(f"{q} Q0 {d} {written} {score!r} tag\n" for q, d, score, written in lines))


def ranked(lines: Iterable[Line], qrels: dict[str, dict[str, int]], **options: object) -> Ranked:
    return rank(read_run(run_text(lines)), coded(qrels), **options)  # type: ignore[arg-type]


def plain(lists: Lists) -> dict[str, object]:
    arrays = ("rank", "doc", "tie_first", "tie_last", "depth", "start", "first_tie")
    return {name: getattr(lists, name).tolist() for name in arrays} | {"all_tied": lists.all_tied}


def flag(result: Ranked, code: str) -> str | None:
    return next((f.message for f in result.flags if f.code == code), None)


# One byte, two, three and four bytes in UTF-8; in UTF-16 the last two would sort the other way round.
DOCS = ("a", "b", "B", "a1", "d10", "d9", "é", "中", "\uffee", "😀", "a\u00a0b", "q1", "q2")
QUERIES = ("q1", "q2", "q10", "é")
SCORES = (
    0.0, -0.0, 1.0, -1.0, 1.0 + 2**-40, 16777216.0, 16777217.0, 0.9750000002, 0.9750000001,
    1e39, 1e300, -1e39, -1e300, 3.4028235e38, 1e-46, 1e-60, 5e-324, -5e-324, 1e-40, 1.1e-40,
)  # fmt: skip
scores = st.sampled_from(SCORES) | st.floats(-2, 2) | st.floats(allow_nan=False, allow_infinity=False)
a_line = st.tuples(st.sampled_from((*QUERIES, "qx")), st.sampled_from(DOCS), scores, st.integers(0, 12))
some_lines = st.lists(a_line, min_size=1, max_size=24)
distinct_lines = st.lists(a_line, min_size=1, max_size=24, unique_by=lambda line: line[:2])
grades = st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), min_size=1, max_size=5)
some_qrels = st.dictionaries(st.sampled_from(QUERIES), grades, min_size=1, max_size=4)
options = st.fixed_dictionaries(
    {
        "ties": st.sampled_from(("trec", "input")),
        "duplicates": st.sampled_from(("error", "best")),
        "depth": st.none() | st.integers(1, 4),
        "drop_self": st.booleans(),
    }
)


@settings(max_examples=200, deadline=None)
@given(some_lines, some_qrels, options)
@example([("q1", "a", 1.0, 1)], {"q1": {"a": 1}, "q2": {"b": 1}}, {})
@example([("q1", "q1", 1.0, 1)], {"q1": {"a": 1}}, {"drop_self": True})
@example([("q1", "b", 9.0, 1), ("q1", "a", 1.0, 2)], {"q1": {"a": 1}}, {"depth": 1})
def test_every_field_is_that_of_the_reference(
    lines: list[Line], qrels: dict[str, dict[str, int]], options: dict[str, object]
) -> None:
    expected = reference(lines, qrels, **options)  # type: ignore[arg-type]
    if expected is None:
        with pytest.raises(InputError):
            ranked(lines, qrels, **options)
        return
    result = ranked(lines, qrels, **options)
    assert plain(result.lists) == as_lists(expected, qrels)
    assert (list(result.missing), list(result.ignored)) == (expected.missing, expected.ignored)
    pairs = [(q, row[0]) for q, rows in expected.lists.items() for row in rows]
    names = sorted(qrels, key=str.encode)
    found = [(names[q], d) for q, d in zip(result.owner.tolist(), result.docs.to_list(), strict=True)]
    assert sorted(found) == sorted(pairs)
    assert sorted(result.seen.to_list()) == sorted(doc for _, doc, *_ in lines)


@settings(max_examples=100, deadline=None)
@given(distinct_lines, some_qrels, st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(
    lines: list[Line], qrels: dict[str, dict[str, int]], rng: random.Random
) -> None:
    assume(reference(lines, qrels) is not None)
    shuffled = rng.sample(lines, len(lines))
    first, second = ranked(lines, qrels), ranked(shuffled, qrels)
    assert plain(first.lists) == plain(second.lists)
    assert (first.missing, first.ignored, first.flags) == (second.missing, second.ignored, second.flags)


@settings(max_examples=100, deadline=None)
@given(some_qrels, st.randoms(use_true_random=False))
def test_codes_ascend_with_bytes_whatever_the_order(qrels: dict[str, dict[str, int]], rng: random.Random) -> None:
    rows = [f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items()]
    made = [code_qrels(read_qrels(io.StringIO("".join(rng.sample(rows, len(rows)))))) for _ in range(2)]
    for c in made:
        names = c.judgments.queries
        assert list(names) == sorted(qrels, key=str.encode)
        assert c.docs.to_list() == sorted({d for docs in qrels.values() for d in docs}, key=str.encode)
        assert c.judgments.n_docs == len(c.docs)
        back = {q: {} for q in names}  # type: dict[str, dict[str, int]]
        for q, d, g in zip(c.judgments.query, c.judgments.doc, c.judgments.grade, strict=True):
            back[names[q]][c.docs[int(d)]] = int(g)
        assert back == qrels
    a, b = (c.judgments for c in made)
    assert a.queries == b.queries
    for name in ("start", "doc", "grade"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@settings(max_examples=100, deadline=None)
@given(distinct_lines, some_qrels)
def test_trec_eval_ranks_the_raw_run_alike(lines: list[Line], qrels: dict[str, dict[str, int]]) -> None:
    assume(reference(lines, qrels) is not None)
    # pytrec_eval may never return where a query has negative grades alone; the gate never asks it there.
    assume(all(max(docs.values()) >= 0 for docs in qrels.values()))
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for query, doc, score, _ in lines:
        run[query][doc] = score
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg", "recip_rank", "map"}).evaluate(run)
    judgments, lists = coded(qrels).judgments, ranked(lines, qrels).lists
    for name, spelled in (("ndcg", "nDCG"), ("recip_rank", "RR"), ("map", "AP")):
        measure = parse(spelled)
        ours = own_values(measure, judgments, lists, kernel_grade(measure, judgments))
        expected = [theirs[q][name] if q in theirs else 0.0 for q in judgments.queries]
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("backend", ["builtin", "ir_measures", "pytrec_eval", "ranx"])
def test_the_gate_scores_a_tied_run_as_trec_eval_scores_the_raw_one(backend: str) -> None:
    """Scores of a coarse reranker, 0 to 2: nearly all of them tied."""
    rng = random.Random(5)
    docs = [f"d{i}" for i in range(40)]
    qrels = {f"q{i}": {d: rng.randint(0, 3) for d in rng.sample(docs, 12)} for i in range(12)}
    run = {q: {d: float(rng.randint(0, 2)) for d in rng.sample(docs, 25)} for q in qrels}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recip_rank"}).evaluate(run)
    report = fa.gate(qrels, run, ["nDCG@10", "RR"], backend=backend, n_boot=100)
    for spelled, name in (("nDCG@10", "ndcg_cut_10"), ("RR", "recip_rank")):
        expected = [theirs[q][name] for q in report[spelled].queries]
        np.testing.assert_allclose(report[spelled].result.own, expected, rtol=0, atol=1e-9)
        assert report[spelled].score == pytest.approx(sum(expected) / len(expected), abs=1e-12)
        assert report[spelled].result.tied_queries == 12


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ("robust03/qrels.robust03.txt.gz", "robust03/runs/MU03rob01.run.gz"),  # 90,099 of 99,900 neighbours are tied
        ("qrels/qrels.dl19-passage.txt", "dl19/runs/REP_LLAMA.run.gz"),
    ],
)
def test_real_runs_full_of_ties_score_as_in_trec_eval(shared: Path, qrels: str, run: str) -> None:
    judged, found = (read(shared / "data" / name) for read, name in ((read_qrels, qrels), (read_run, run)))
    by_query: dict[str, dict[str, float]] = defaultdict(dict)
    for q, d, score in zip(found.query.tolist(), found.doc.to_list(), found.score.tolist(), strict=True):
        by_query[found.queries[q]][d] = score
    gold: dict[str, dict[str, int]] = defaultdict(dict)
    for q, d, grade in zip(judged.query.tolist(), judged.doc.to_list(), judged.grade.tolist(), strict=True):
        gold[judged.queries[q]][d] = grade
    theirs = pytrec_eval.RelevanceEvaluator(gold, {"ndcg_cut.10", "recip_rank", "map"}).evaluate(by_query)
    made = code_qrels(judged)
    lists = rank(found, made).lists
    assert (lists.first_tie > 0).sum() > 40
    for name, spelled in (("ndcg_cut_10", "nDCG@10"), ("recip_rank", "RR"), ("map", "AP")):
        measure = parse(spelled)
        ours = own_values(measure, made.judgments, lists, kernel_grade(measure, made.judgments))
        np.testing.assert_allclose(ours, [theirs[q][name] for q in made.judgments.queries], rtol=0, atol=1e-9)


def test_a_real_run_upside_down_is_told(shared: Path) -> None:
    """A submission whose scores ascend with its ranks, in all 50 queries."""
    made = code_qrels(read_qrels(shared / "data/qrels/qrels.covid-complete.txt.gz"))
    run = read_run(shared / "data/trec-covid-r5/runs/uogTrDPH_QE_RF_SB_B.run.gz")
    message = flag(rank(run, made), "rank_contradicts_score")
    assert message is not None
    assert "in 50 of 50 queries" in message


# --- single cases, worked out by hand --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("high", "low"),
    [(0.9750000002, 0.9750000001), (16777217.0, 16777216.0), (1e300, 1e39), (1e-50, 1e-60), (-1e39, -1e300)],
)
def test_scores_that_32_bits_cannot_tell_apart_are_tied(high: float, low: float) -> None:
    """The tie rule puts b before a, although a has the higher score."""
    result = ranked([("q", "a", high, 1), ("q", "b", low, 2)], {"q": {"a": 1}})
    assert result.lists.rank.tolist() == [2]
    assert (result.lists.tie_first.tolist(), result.lists.tie_last.tolist()) == ([1], [2])
    message = flag(result, "scores_beyond_float32")
    assert message is not None
    assert message.startswith("1 neighbouring scores differ only beyond 32-bit precision")


def test_both_zeros_are_one_score() -> None:
    result = ranked([("q", "a", 0.0, 1), ("q", "b", -0.0, 2)], {"q": {"a": 1}})
    assert result.lists.rank.tolist() == [2]
    assert result.lists.all_tied
    assert flag(result, "scores_beyond_float32") is None


def test_input_order_decides_ties_only_when_asked() -> None:
    lines = [("q", "a", 1.0, 1), ("q", "c", 1.0, 2), ("q", "z", 2.0, 3), ("q", "b", 1.0, 4)]
    qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    assert ranked(lines, qrels).lists.doc.tolist() == [2, 1, 0]
    by_file = ranked(lines, qrels, ties="input").lists
    assert by_file.doc.tolist() == [0, 2, 1]
    assert by_file.rank.tolist() == [2, 3, 4]
    assert (by_file.tie_first.tolist(), by_file.tie_last.tolist()) == ([2, 2, 2], [4, 4, 4])


def test_a_tie_ends_where_the_list_is_cut() -> None:
    lines = [("q", d, 1.0, 1) for d in "abcd"]
    lists = ranked(lines, {"q": {d: 1 for d in "abcd"}}, depth=3).lists
    assert lists.doc.tolist() == [3, 2, 1]
    assert lists.tie_last.tolist() == [3, 3, 3]
    assert ranked(lines, {"q": {"d": 1}}, depth=1).lists.first_tie.tolist() == [0]


def test_the_rank_column_never_decides_and_is_held_against_the_scores() -> None:
    """q1 is upside down (2 neighbouring pairs), q2 as written, q3 tied: ranks among ties contradict nothing."""
    lines = [
        ("q1", "a", 1.0, 1), ("q1", "b", 2.0, 2), ("q1", "c", 3.0, 3),
        ("q2", "a", 3.0, 1), ("q2", "b", 2.0, 2), ("q3", "a", 1.0, 1), ("q3", "b", 1.0, 2),
    ]  # fmt: skip
    result = ranked(lines, {q: {"a": 1} for q in ("q1", "q2", "q3")})
    assert result.lists.rank.tolist() == [3, 1, 2]
    message = flag(result, "rank_contradicts_score")
    assert message is not None
    assert "in 1 of 3 queries (2 neighbouring pairs)" in message
    assert "scores decide" in message


@settings(max_examples=100, deadline=None)
@given(some_lines, some_qrels)
def test_what_is_said_of_ranks_and_of_32_bits_is_counted_right(
    lines: list[Line], qrels: dict[str, dict[str, int]]
) -> None:
    expected = reference(lines, qrels, duplicates="best")
    assume(expected is not None)
    assert expected is not None
    neighbours = [(q, a, b) for q, rows in expected.lists.items() for a, b in itertools.pairwise(rows)]
    against = [q for q, a, b in neighbours if b[1] < a[1] and b[3] < a[3]]
    merged = [q for q, a, b in neighbours if a[1] == b[1] and a[2] != b[2]]
    result = ranked(lines, qrels, duplicates="best")
    message = flag(result, "rank_contradicts_score") or "in 0 of 0 queries (0 neighbouring pairs)"
    answered = len(qrels) - len(expected.missing)
    assert f"in {len(set(against))} of {answered if against else 0} queries ({len(against)} neighbouring" in message
    assert (flag(result, "scores_beyond_float32") or "0 neighbouring").startswith(f"{len(merged)} neighbouring")


def test_identical_lines_are_dropped_and_said_and_contradict_no_rank() -> None:
    lines = [("q", "a", 2.0, 1), ("q", "b", 1.0, 2), ("q", "a", 2.0, 3)]
    result = ranked(lines, {"q": {"b": 1}})
    assert result.lists.rank.tolist() == [2]
    assert [f.code for f in result.flags] == ["duplicates_removed"]
    assert (
        flag(result, "duplicates_removed") == "1 line repeats a document of the same list with the same score; dropped."
    )


def test_the_best_of_several_is_kept_when_asked() -> None:
    """Case 20: last wins would put d1 behind d2."""
    lines = [("q", "d1", 7.0, 3), ("q", "d2", 8.0, 2), ("q", "d1", 9.0, 1), ("q", "d1", 1.0, 4)]
    result = ranked(lines, {"q": {"d1": 1, "d2": 1}}, duplicates="best")
    assert result.lists.doc.tolist() == [0, 1]
    assert result.lists.rank.tolist() == [1, 2]
    assert flag(result, "duplicates_removed") == (
        "2 lines repeat a document of the same list with another score (the best-ranked is kept); dropped."
    )


def test_self_matches_are_told_and_dropped_by_id_alone() -> None:
    """Cases 9 and 28: the duplicate of the query that ties with it stays."""
    lines = [("q", "q", 1.0, 1), ("q", "dup", 1.0, 2), ("q", "x", 0.2, 3)]
    kept = ranked(lines, {"q": {"dup": 1}})
    assert kept.lists.rank.tolist() == [2]
    message = flag(kept, "self_matches")
    assert message is not None
    assert message.startswith("In 1 of 1 queries the first document has the id of the query itself.")
    assert "--drop-self" in message
    for order in itertools.permutations(lines):
        dropped = ranked(order, {"q": {"dup": 1}}, drop_self=True)
        assert dropped.lists.rank.tolist() == [1]
        assert dropped.lists.depth.tolist() == [2]
        assert flag(dropped, "self_dropped") == "1 document that is its own query was dropped."


def test_a_head_without_judged_documents_is_no_error() -> None:
    """The cut leaves unjudged documents only: a score of 0, and the depth is known."""
    lists = ranked([("q", "u", 2.0, 1), ("q", "a", 1.0, 2)], {"q": {"a": 1}}, depth=1).lists
    assert (lists.depth.tolist(), lists.rank.tolist(), lists.all_tied) == ([1], [], False)


def test_a_subset_of_queries_keeps_the_codes_of_documents() -> None:
    whole = coded({"q1": {"a": 1, "b": 0}, "q2": {"c": 2}, "q3": {"b": 3}})
    part = whole.subset({"q3", "q2", "unknown"})
    assert part.judgments.queries == ("q2", "q3")
    assert part.judgments.n_docs == 3
    assert part.judgments.start.tolist() == [0, 1, 2]
    assert (part.judgments.doc.tolist(), part.judgments.grade.tolist()) == ([2, 1], [2, 3])


def test_a_run_is_not_changed_by_ranking() -> None:
    run = read_run(run_text([("q", "a", 1.0, 1), ("q", "b", 2.0, 2), ("q", "b", 2.0, 2)]))
    before = (run.query.copy(), run.doc.to_list(), run.score.copy())
    rank(run, coded({"q": {"a": 1}}))
    np.testing.assert_array_equal(before[0], run.query)
    assert before[1] == run.doc.to_list()
    np.testing.assert_array_equal(before[2], run.score)


# --- messages --------------------------------------------------------------------------------------------------------


def error(lines: Sequence[Line], qrels: dict[str, dict[str, int]], **options: object) -> str:
    with pytest.raises(InputError) as caught:
        ranked(lines, qrels, **options)
    assert caught.value.where == "<StringIO>"
    return str(caught.value)


def test_two_scores_name_both_lines_the_scores_in_their_order_and_the_cure() -> None:
    text = "# a comment\nq Q0 d1 3 7 t\nq Q0 d2 2 8 t\n\nq Q0 d1 1 9 t\nq Q0 d2 4 1 t\nq Q0 d2 5 0.5 t\n"
    with pytest.raises(InputError) as caught:
        rank(read_run(io.StringIO(text)), coded({"q": {"d1": 1}}))
    assert str(caught.value) == (
        "<StringIO>: lines 2 and 5: document 'd1' stands twice in the list of query 'q', with scores 7.0 and 9.0 "
        "(2 such documents in all). Legal: a document once per query. "
        "Use --duplicates best to keep the best-ranked one."
    )


def test_no_query_in_common_shows_some_of_each() -> None:
    said = error([(f"x{i}", "a", 1.0, 1) for i in range(7)], {"q1": {"a": 1}, "q2": {"a": 1}})
    assert "no query of the run is judged: the run has 'x0', 'x1', 'x2', 'x3', 'x4' and 2 more" in said
    assert "the qrels <dict> have 'q1', 'q2'" in said
    assert "spell query ids alike" in said


def test_no_document_in_common_shows_some_of_each() -> None:
    said = error([("q", "x", 1.0, 1)], {"q": {"a": 1, "b": 0}})
    assert "no document of the run occurs in the qrels <dict>: the run has 'x', the qrels 'a', 'b'" in said
    assert "same collection" in said


@pytest.mark.parametrize(
    ("ids", "mark"),
    [(("d1#0", "d1#1"), "#"), (("u", "d2_3"), "_"), (("a-b-7", "x-y-1"), "-"), (("d1%%0",), "%%"), (("d1.p2",), ".")],
)
def test_chunks_against_documents_are_recognised(ids: tuple[str, ...], mark: str) -> None:
    said = error([("q", d, 1.0, 1) for d in ids], {"q": {"d1": 1, "d2": 0, "a-b": 1}})
    assert "The run lists chunks and the qrels judge documents" in said
    assert f"--unit-sep {mark!r}" in said


def test_dropping_a_relevant_document_is_refused() -> None:
    said = error([("q", "q", 2.0, 1), ("q", "a", 1.0, 2)], {"q": {"q": 1, "a": 1}}, drop_self=True)
    assert "--drop-self would drop documents that are judged relevant for the query of the same id: 'q'" in said
    assert "leave --drop-self out" in said


def test_dropping_everything_is_refused() -> None:
    said = error([("q", "q", 2.0, 1)], {"q": {"a": 1}}, drop_self=True)
    assert "--drop-self leaves no document: each has the id of its own query" in said


def test_query_ids_that_differ_in_leading_zeros_are_refused() -> None:
    import falsify_adapters as fa

    qrels = {str(q): {"d": 1} for q in range(1, 6)}
    run = {("0" + q if q in "12" else q): {"d": 1.0} for q in qrels}
    with pytest.raises(InputError, match=r"2 query ids differ .* leading zeros alone: '01' in the run, '1' there"):
        fa.gate(qrels, run, "RR", backend="builtin", n_boot=100)

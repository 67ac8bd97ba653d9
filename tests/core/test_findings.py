"""Verdicts as a truth table, and every flag with a bench that raises it and a neighbour that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import in_single_file, make_case, spread

from falsify_adapters.core.case import Case, GateResult, NullResult, Settings
from falsify_adapters.core.findings import conclude, null_verdict, queries_needed
from falsify_adapters.core.gate import examine
from falsify_adapters.core.nulls import gold_sets
from falsify_adapters.measures import Measure
from falsify_adapters.model import Pool

TAU = 0.05
QUICK = Settings(n_boot=200)
Qrels = dict[str, dict[str, int]]
Run = dict[str, list[list[str]]]


# Verdicts.


@pytest.mark.parametrize(
    ("delta", "ci", "verdict"),
    [
        (0.20, (0.10, 0.30), "pass"),
        (0.05, (0.01, 0.09), "pass"),
        (0.049, (0.01, 0.09), "fail"),  # above 0 with confidence, and too small
        (0.01, (-0.02, 0.04), "fail"),
        (-0.3, (-0.4, -0.2), "fail"),
        (0.20, (-0.01, 0.40), "under-ns"),
        (0.20, (0.0, 0.40), "under-ns"),  # an interval holds its ends
        (0.02, (-0.01, 0.05), "under-ns"),
        (0.02, (-0.01, 0.0499), "fail"),
        (0.20, (1e-9, 0.40), "pass"),
        (0.0, (0.0, 0.0), "fail"),
        (0.20, None, "under-ns"),
        (-0.2, None, "under-ns"),
    ],
)
def test_verdict_of_a_null(delta: float, ci: tuple[float, float] | None, verdict: str) -> None:
    assert null_verdict(delta, ci, TAU) == verdict


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.001, 0.5))
def test_a_pass_always_rejects_its_null(delta: float, below: float, above: float, tau: float) -> None:
    low, high = delta - below, delta + above
    verdict = null_verdict(delta, (low, high), tau)
    if verdict == "pass":
        assert low > 0
        assert delta >= tau
    elif verdict == "under-ns":
        assert low <= 0 < tau <= high
    else:
        assert delta < tau


def null_of(verdict: str, delta: float = 0.2, ci: tuple[float, float] | None = (0.1, 0.3)) -> NullResult:
    return NullResult(0.1, 0.0, "exact", delta, ci, ci, 0.01, 1.0, verdict, np.zeros(6))


def simple_case() -> Case:
    qrels = {f"q{n}": {f"d{n}": 1} for n in range(6)}
    return make_case(Measure("RR"), qrels, in_single_file({q: [d.replace("q", "d") for d in [q]] for q in qrels}), 100)


def concluded(verdicts: Sequence[str], case: Case | None = None) -> GateResult:
    case = case or simple_case()
    (found,) = examine([case], QUICK)
    nulls = dict(zip("ABCD", map(null_of, verdicts), strict=True))
    gold = gold_sets(case.measure, case.judgments)
    return conclude(replace(found, nulls=nulls), case, QUICK, gold, same_lists=False, low_tail=1.0)


def test_the_gate_passes_only_where_every_null_does() -> None:
    for verdicts in product(("pass", "fail", "under-ns"), repeat=4):
        expected = "FAIL" if "fail" in verdicts else "UNDER-NS" if "under-ns" in verdicts else "PASS"
        assert concluded(verdicts).verdict == expected


def needed_by_search(delta: float, ci: tuple[float, float], n: int, tau: float) -> int:
    """The first number of queries at which an interval whose arms shrink as 1/sqrt(Q) no longer holds 0 and tau."""
    for more in range(1, 10**6):
        share = np.sqrt(n / more)
        low, high = delta - (delta - ci[0]) * share, delta + (ci[1] - delta) * share
        if not (low <= 0 and high >= tau):
            return more
    raise AssertionError


@pytest.mark.parametrize(
    ("delta", "ci"),
    [(0.2, (-0.1, 0.5)), (0.03, (-0.02, 0.09)), (-0.02, (-0.2, 0.3)), (0.05, (-0.1, 0.2)), (0.0, (-0.1, 0.31))],
)
@pytest.mark.parametrize("n", [7, 28])
def test_queries_needed_is_where_the_interval_lets_go(delta: float, ci: tuple[float, float], n: int) -> None:
    found = queries_needed({"A": null_of("under-ns", delta, ci)}, n, TAU)
    assert found == needed_by_search(delta, ci, n, TAU)
    assert found > n


def test_queries_needed_is_that_of_the_widest_undecided_null() -> None:
    nulls = {
        "A": null_of("under-ns", 0.2, (-0.1, 0.5)),
        "B": null_of("pass", 0.2, (0.1, 0.5)),
        "C": null_of("under-ns", 0.2, (-0.3, 0.5)),
        "D": null_of("under-ns", 0.2, None),
    }
    assert queries_needed(nulls, 10, TAU) == needed_by_search(0.2, (-0.3, 0.5), 10, TAU)
    assert queries_needed({"B": nulls["B"], "D": nulls["D"]}, 10, TAU) is None


def test_queries_needed_comes_with_under_ns_alone() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        qrels = {f"q{n}": {f"d{n}": 1} for n in range(8)}
        run = in_single_file({q: [f"d{n}" for n in rng.permutation(8)] for q in qrels})
        found = judged(make_case(Measure("RR"), qrels, run, 20))
        assert (found.queries_needed is not None) == (found.verdict == "UNDER-NS")


# Flags.


def judged(case: Case, given: Settings = QUICK) -> GateResult:
    (found,) = examine([case], given)
    return found


def codes(found: GateResult) -> list[str]:
    listed = [flag.code for flag in found.flags]
    assert len(listed) == len(set(listed)), "a flag is raised once"
    return listed


def message(found: GateResult, code: str) -> str:
    return next(flag.message for flag in found.flags if flag.code == code)


def own_gold(n: int = 12) -> Qrels:
    return {f"q{x:02d}": {f"d{x:02d}": 1} for x in range(n)}


def lists_of(qrels: Qrels, rank: int, length: int = 10, fill: str = "x") -> Run:
    """Every query's own gold document at a rank (0: not at all), other documents around it."""
    out = {}
    for q, judged in qrels.items():
        docs = [f"{fill}{q}{x}" for x in range(length)]
        if rank:
            docs[rank - 1] = next(iter(judged))
        out[q] = docs
    return in_single_file(out)


def sound() -> GateResult:
    qrels = own_gold(30)
    return judged(make_case(Measure("RR", 10), qrels, lists_of(qrels, 1), 500))


def test_a_sound_result_has_no_flag_but_that_its_nulls_coincide() -> None:
    assert sound().verdict == "PASS"
    assert codes(sound()) == ["nulls_coincide"]


def test_below_chance() -> None:
    qrels = own_gold(30)
    # Reversed: the gold document last of ten, where chance puts it anywhere.
    found = judged(make_case(Measure("RR"), qrels, lists_of(qrels, 10), 10 * 30))
    assert "below_chance" not in codes(found)  # 0.1 for a floor of 0.0098: far above
    reversed_run = judged(make_case(Measure("RR"), qrels, lists_of(qrels, 10), candidates=True))
    assert "below_chance" in codes(reversed_run)
    assert "The score 0.1000 lies under the floor 0.2929" in message(reversed_run, "below_chance")
    rng = np.random.default_rng(0)
    names = {q: [*judged, *(f"x{x}" for x in range(9))] for q, judged in qrels.items()}
    run = in_single_file({q: rng.permutation(docs).tolist() for q, docs in names.items()})
    assert "below_chance" not in codes(judged(make_case(Measure("RR"), qrels, run, candidates=True)))


def test_nothing_judged_fails_and_is_in_capitals() -> None:
    qrels = own_gold()
    strangers = judged(make_case(Measure("RR", 5), qrels, lists_of(qrels, 0), 500))
    assert "nothing_judged" in codes(strangers)
    assert "NO RETRIEVED DOCUMENT IS JUDGED FOR ITS OWN QUERY" in message(strangers, "nothing_judged")
    assert strangers.verdict == "FAIL"
    assert not {"below_chance", "query_independent"} & set(codes(strangers))
    others = in_single_file({q: [f"d{(int(q[1:]) + 1) % 12:02d}"] for q in qrels})
    assert "nothing_judged" in codes(judged(make_case(Measure("RR", 5), qrels, others, 500)))
    # One judged document behind the cutoff, or judged non-relevant, is a judged document.
    one = lists_of(qrels, 0)
    one["q03"] = [[f"x{x}"] for x in range(6)] + [["d03"]]
    assert "nothing_judged" not in codes(judged(make_case(Measure("RR", 5), qrels, one, 500)))
    zero = {**qrels, "q03": {"d03": 1, "n": 0}}
    assert "nothing_judged" not in codes(
        judged(make_case(Measure("RR", 5), zero, {**lists_of(qrels, 0), "q03": [["n"]]}, 500))
    )


def test_query_independent() -> None:
    qrels = own_gold()
    same = in_single_file({q: ["d00", "d01", "x", "d02"] for q in qrels})
    found = judged(make_case(Measure("RR", 3), qrels, same, 500))
    assert "query_independent" in codes(found)
    assert found.nulls["A"].delta == 0
    # Differences below the cutoff, or among documents that the qrels do not know, are none.
    deeper = {**same, "q05": [["d00"], ["d01"], ["y"], ["d05"]]}
    assert "query_independent" in codes(judged(make_case(Measure("RR", 3), qrels, deeper, 500)))
    assert "query_independent" not in codes(judged(make_case(Measure("RR", 4), qrels, deeper, 500)))
    assert "query_independent" not in codes(judged(make_case(Measure("RR"), qrels, deeper, 500)))
    for other in ([["d01"], ["d00"], ["x"]], [["d00"]], []):
        found = judged(make_case(Measure("RR", 3), qrels, {**same, "q05": other}, 500))
        assert "query_independent" not in codes(found)
        assert found.nulls["A"].ci != (0.0, 0.0)


def test_lists_without_a_judged_document_are_not_called_the_same() -> None:
    qrels = own_gold()
    run = {q: [*groups, ["d00"]] for q, groups in lists_of(qrels, 0, 5).items()}
    found = judged(make_case(Measure("RR", 3), qrels, run, 500))
    assert "query_independent" not in codes(found)
    assert found.nulls["A"].ci is not None
    assert found.nulls["A"].ci[0] < found.nulls["A"].ci[1]


def one_tie(qrels: Qrels, n: int) -> Run:
    return {q: [[*judged, *(f"x{q}{x}" for x in range(n - len(judged)))]] for q, judged in qrels.items()}


def test_no_signal_in_ties() -> None:
    qrels = own_gold()
    whole = judged(make_case(Measure("RR"), qrels, one_tie(qrels, 8), candidates=True))
    assert "no_signal_in_ties" in codes(whole)
    assert "the score is the floor, 0.3397; 1.0000 is the work of the tie rule alone" in message(
        whole, "no_signal_in_ties"
    )
    assert whole.nulls["C"].verdict == "fail"
    assert whole.verdict == "FAIL"
    part = judged(make_case(Measure("RR"), qrels, one_tie(qrels, 8), 500))
    assert "any value from 0.1250 to 1.0000 could have come out" in message(part, "no_signal_in_ties")
    assert part.nulls["C"].verdict == "pass"
    broken = {**one_tie(qrels, 8), "q00": [["d00"], ["x1", "x2"]]}
    assert "no_signal_in_ties" not in codes(judged(make_case(Measure("RR"), qrels, broken, 500)))


def test_a_constant_scorer_that_the_tie_rule_puts_last_is_no_signal_rather_than_below_chance() -> None:
    qrels = own_gold(30)
    run = {q: [[f"x{q}{x}" for x in range(9)] + list(judged)] for q, judged in qrels.items()}
    found = judged(make_case(Measure("RR"), qrels, run, candidates=True))
    assert found.score == pytest.approx(0.1)
    assert "no_signal_in_ties" in codes(found)
    assert "below_chance" not in codes(found)


def test_ties_decide() -> None:
    qrels = own_gold()
    run = lists_of(qrels, 0, 8)
    tied = {q: [[next(iter(qrels[q])), *(d for g in groups for d in g)], [f"y{q}"]] for q, groups in run.items()}
    found = judged(make_case(Measure("RR", 5), qrels, tied, 500))
    assert found.tie_span == (0.0, 1.0)
    assert "ties_decide" in codes(found)
    assert "moves the score from 0.0000 to 1.0000" in message(found, "ties_decide")
    # Tied in pairs behind a clear first: the span stays above the bar, or all of it below.
    above = {q: [[next(iter(qrels[q]))], ["x1", "x2"]] for q in qrels}
    below = {q: [["x1", "x2"], ["x3"]] for q in qrels} | {"q00": [["x1"], ["d00", "x2"], ["x3"]]}
    for quiet in (above, below):
        assert "ties_decide" not in codes(judged(make_case(Measure("RR", 5), qrels, quiet, 500)))


def test_cannot_fail_where_a_measure_is_constant() -> None:
    qrels = own_gold()
    run = lists_of(qrels, 3, 8)
    found = judged(make_case(Measure("Success", 8), qrels, run, candidates=True))
    assert "cannot_fail" in codes(found)
    assert "scores 1.0000: Success@8 is constant here" in message(found, "cannot_fail")
    assert "small_scale" not in codes(found)
    assert "few_queries" not in codes(found)
    assert found.verdict != "PASS"
    assert "cannot_fail" not in codes(judged(make_case(Measure("Success", 7), qrels, run, candidates=True)))


def test_cannot_pass_where_the_best_list_is_no_better() -> None:
    # Everybody's gold is d0: other queries' gold serves as well as one's own.
    shared = {f"q{n}": {"d0": 1} for n in range(12)}
    found = judged(make_case(Measure("RR"), shared, lists_of(shared, 1), 500))
    assert "cannot_pass" in codes(found)
    assert "the best list, 1.0000, is less than tau above null A, B, D" in message(found, "cannot_pass")
    assert "cannot_pass" not in codes(sound())


@pytest.mark.parametrize(("outside", "small"), [(12, True), (10, False)])
def test_small_scale(outside: int, small: bool) -> None:
    """Of 10 candidates `n - outside` queries have their gold: the room is what is left of RR's 1 - 0.2929."""
    qrels = own_gold(14)
    lists = lists_of(qrels, 2)
    for q in sorted(qrels)[: outside + 1]:
        lists[q] = [[f"y{q}{x}"] for x in range(10)]
    found = judged(make_case(Measure("RR"), qrels, lists, candidates=True))
    assert found.ceiling - found.floor == pytest.approx((13 - outside) * (1 - 0.29289682539682538) / 14)
    assert ("small_scale" in codes(found)) == small
    if small:
        assert "Between floor and ceiling lie only 0.0505, so tau = 0.05 is large here" in message(found, "small_scale")


def test_null_toothless() -> None:
    qrels = own_gold(30)
    run = lists_of(qrels, 1, 8)
    found = judged(make_case(Measure("RR"), qrels, run, candidates=True))
    assert "null_toothless" in codes(found)
    assert message(found, "null_toothless").startswith("Null A, B, D says nothing here")
    # Where it says nothing it decides nothing: C alone does.
    assert found.verdict == {"pass": "PASS", "fail": "FAIL", "under-ns": "UNDER-NS"}[found.nulls["C"].verdict]
    assert "null_toothless" not in codes(judged(make_case(Measure("RR"), qrels, run, 500)))
    shared = {q: {**judged, "d00": 1} for q, judged in qrels.items()}
    with_it = {q: [*groups[:7], ["d00"]] if q != "q00" else groups for q, groups in run.items()}
    assert "null_toothless" not in codes(judged(make_case(Measure("RR"), shared, with_it, candidates=True)))


def test_a_toothless_null_neither_passes_nor_fails_the_gate() -> None:
    qrels = own_gold(30)
    rng = np.random.default_rng(0)
    run = in_single_file({q: [f"{q}{x}" if x else next(iter(j)) for x in rng.permutation(8)] for q, j in qrels.items()})
    found = judged(make_case(Measure("RR"), qrels, run, candidates=True))
    assert {found.nulls[name].verdict for name in "ABD"} == {"pass"}
    assert found.nulls["C"].verdict != "pass"
    assert found.verdict != "PASS"


def coincide(qrels: Qrels, null_d: str = "documents") -> str | None:
    found = judged(make_case(Measure("AP"), qrels, lists_of(qrels, 1), 500), Settings(n_boot=50, null_d=null_d))
    return message(found, "nulls_coincide") if "nulls_coincide" in codes(found) else None


def test_nulls_coincide() -> None:
    single, double = own_gold(), {q: {**j, f"e{q}": 1} for q, j in own_gold().items()}
    assert coincide(double) is None
    assert "Nulls A, B and D have the same expectation here (one gold document per query; no" in str(coincide(single))
    assert "Nulls A and D have the same expectation here (one gold" in str(coincide({**single, "q01": {"d00": 1}}))
    assert "Nulls A, B and D have the same expectation here (whole gold sets" in str(coincide(double, "sets"))
    shared = {**double, "q01": double["q00"]}
    assert "Nulls A and D have the same expectation here (whole gold sets" in str(coincide(shared, "sets"))


@pytest.mark.parametrize("null_d", ["documents", "sets"])
def test_nulls_that_are_said_to_coincide_do(null_d: str) -> None:
    qrels = {**own_gold(), "q01": {"d00": 1}}
    run = in_single_file({q: ["d00", "d03", *j] if q > "q03" else [*j] for q, j in own_gold().items()})
    found = judged(make_case(Measure("AP"), qrels, run, 500), Settings(n_boot=50, null_d=null_d))
    assert found.nulls["A"].mean == pytest.approx(found.nulls["D"].mean, abs=1e-12)
    assert found.nulls["B"].mean != pytest.approx(found.nulls["A"].mean, abs=1e-6)


def test_grades_keep_a_and_d_apart_on_single_gold() -> None:
    """One gold document per query, of different grades: A moves grades with their documents, D keeps the query's own.
    For ERR, whose value depends on the grade, they differ, and nobody says that they coincide."""
    qrels = {q: {d: 1 + n % 3 for d in j} for n, (q, j) in enumerate(own_gold().items())}
    run = in_single_file({q: ["d00", "d01", "d05", *qrels[q]] if q > "q05" else ["d02"] for q in qrels})
    found = judged(make_case(Measure("ERR", 5), qrels, run, 500))
    assert abs(found.nulls["A"].mean - found.nulls["D"].mean) > 1e-6
    assert "nulls_coincide" not in codes(found)
    # nDCG is divided by the ideal, so one grade is as good as another.
    found = judged(make_case(Measure("nDCG", 5), qrels, run, 500))
    assert found.nulls["A"].mean == pytest.approx(found.nulls["D"].mean, abs=1e-12)
    assert "nulls_coincide" in codes(found)


def test_documents_judged_non_relevant_keep_a_and_d_apart_for_bpref() -> None:
    """A deals them out with the gold document, D leaves them where they are."""
    qrels = {q: {**j, f"n{q}": 0} for q, j in own_gold().items()}
    run = in_single_file({q: [f"n{q}", "d00", "d01", "d02"] for q in qrels})  # own gold is in three lists of twelve
    found = judged(make_case(Measure("bpref"), qrels, run, 500))
    assert found.nulls["A"].mean > 0.1
    assert found.nulls["D"].mean == 0
    assert "nulls_coincide" not in codes(found)
    bare = {q: dict(j) for q, j in own_gold().items()}
    found = judged(make_case(Measure("bpref"), bare, run, 500))
    assert found.nulls["A"].mean == pytest.approx(found.nulls["D"].mean, abs=0.03)
    assert "nulls_coincide" in codes(found)


def test_pool_observed() -> None:
    qrels = own_gold()
    seen = Pool(np.full(12, 120), "observed")
    found = judged(make_case(Measure("RR"), qrels, lists_of(qrels, 1), seen))
    assert "N = 120 counts only" in message(found, "pool_observed")
    assert "pool_observed" not in codes(judged(make_case(Measure("RR"), qrels, lists_of(qrels, 1), 120)))


def test_gold_outside_pool() -> None:
    qrels: Mapping[str, dict[str, int]] = {q: {**j, f"n{q}": 0} for q, j in own_gold().items()}
    order = [(q, d) for q in sorted(qrels) for d in sorted(qrels[q])]

    def outside(*missing: str) -> GateResult:
        inside = np.array([d not in missing for _, d in order])
        pool = Pool(np.full(12, 300), "file", False, inside)
        return judged(make_case(Measure("RR"), qrels, lists_of(own_gold(), 1), pool))

    found = outside("d03", "d04", "nq05")
    assert "2 of 12 gold documents lie outside the pool" in message(found, "gold_outside_pool")
    assert found.ceiling == pytest.approx(10 / 12)
    assert "gold_outside_pool" not in codes(outside("nq05"))
    assert "gold_outside_pool" not in codes(outside())


def test_few_queries() -> None:
    four, five = own_gold(4), own_gold(5)
    found = judged(make_case(Measure("RR"), four, lists_of(four, 1), 500))
    assert message(found, "few_queries").startswith("Too few queries for any interval: 4, and at least 5")
    assert found.verdict == "UNDER-NS"
    assert found.queries_needed is None
    assert all(null.ci is None and null.ci95 is None for null in found.nulls.values())
    # 2/2^5 = 0.0625 is above 0.05, 2/2^6 = 0.03125 is not.
    found = judged(make_case(Measure("RR"), five, lists_of(five, 1), 500))
    assert (
        "The score differs from chance in 5 of 5 queries only: whatever they say, exchanging their signs at random "
        "gives as much with a chance of 0.0625" in message(found, "few_queries")
    )
    assert all(null.ci is not None for null in found.nulls.values())
    six = own_gold(6)
    assert "few_queries" not in codes(judged(make_case(Measure("RR"), six, lists_of(six, 1), 500)))
    # Queries without gold never differ from chance.
    more = {**five, **{f"r{n}": {"d00": 0} for n in range(5)}}
    assert "few_queries" in codes(judged(make_case(Measure("RR"), more, lists_of(more, 1), 500)))
    assert "few_queries" not in codes(
        judged(make_case(Measure("RR"), five, lists_of(five, 1), 500), Settings(n_boot=50, alpha=0.1))
    )


def test_one_query_with_gold_cannot_be_dealt_another_gold_set() -> None:
    qrels = {**own_gold(1), **{f"r{n}": {"d00": 0} for n in range(9)}}
    found = judged(make_case(Measure("RR"), qrels, {**lists_of(qrels, 2), **lists_of(own_gold(1), 1)}, 500))
    assert "Only one of 10 queries has gold" in message(found, "few_queries")
    assert found.nulls["A"].ci is None
    assert found.nulls["C"].ci is not None
    assert found.verdict == "UNDER-NS"


def test_no_gold_at_all_is_no_verdict_on_the_system() -> None:
    qrels = {f"r{n}": {"d00": 0} for n in range(9)}
    found = judged(make_case(Measure("RR"), qrels, {**lists_of(qrels, 2), "r0": [["d00"]]}, 500))
    assert "No query has gold for RR" in message(found, "few_queries")
    assert found.verdict == "UNDER-NS"
    assert (found.score, found.ceiling, found.queries_needed) == (0, 0, None)
    assert {"cannot_pass", "cannot_fail"} <= set(codes(found))


def test_paired_disagrees() -> None:
    """Five documents of grade 1 first, the one of grade 3 nowhere: nDCG passes, recall of the top document cannot."""
    qrels = {q: {**{f"e{q}{x}": 1 for x in range(9)}, **dict.fromkeys(j, 3)} for q, j in own_gold(30).items()}
    low = in_single_file({q: [f"e{q}{x}" for x in range(9)] for q in qrels})
    found = judged(make_case(Measure("nDCG", 10), qrels, low, 2000))
    assert found.verdict == "PASS"
    assert found.paired is not None
    assert found.paired.verdict == "FAIL"
    assert "nDCG@10 says PASS, recall of the single top-graded document (R@10(top1), 0.0000) says FAIL" in message(
        found, "paired_disagrees"
    )
    both = in_single_file({q: [*own_gold(30)[q], *(f"e{q}{x}" for x in range(9))] for q in qrels})
    assert "paired_disagrees" not in codes(judged(make_case(Measure("nDCG", 10), qrels, both, 2000)))


def test_flags_do_not_pile_up_on_a_spread_case() -> None:
    qrels = own_gold()
    case = make_case(Measure("RR"), qrels, lists_of(qrels, 1), 500)
    assert codes(judged(case)) == codes(judged(spread(case)))

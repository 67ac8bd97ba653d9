"""Grading through a backend: what it is asked, what it may answer, and who grades what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from oracle import score
from reference import MEASURES, benches, enlist, in_single_file, judge, make_case, ranking, value

from falsify_adapters.core.case import Case, Settings
from falsify_adapters.core.cross import cross_scores
from falsify_adapters.core.gate import examine, kernel_grade, own_values
from falsify_adapters.core.kernels import Hits
from falsify_adapters.errors import BackendError, MeasureError
from falsify_adapters.grading import CHUNK, VERIFY, Graded, Traits, backend_grade, grade_run
from falsify_adapters.measures import Measure, looks_to, zero_without_gold
from falsify_adapters.model import Ints, Pool

Bench = tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]]
Asked = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]
Score = Callable[[Measure, list[int | None], list[int]], float]


@dataclass
class Fake:
    """A backend made of the oracle. It checks what it is handed, and remembers it."""

    one: Score = score
    answer: Callable[[list[float]], Sequence[float]] = lambda values: values
    near: float = 1e-9
    name: str = "fake"
    asked: list[Asked] = field(default_factory=list)

    def why_not(self, _: Measure) -> str | None:
        return None

    def tolerance(self, _: Measure) -> float:
        return self.near

    def score(
        self, measure: Measure, qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
    ) -> Sequence[float]:
        assert isinstance(measure, Measure)
        self.asked.append(({q: dict(j) for q, j in qrels.items()}, {q: dict(r) for q, r in run.items()}))
        assert list(qrels) == list(run) == [str(n) for n in range(len(qrels))]
        values = []
        for q, judged in qrels.items():
            scores = list(run[q].values())
            assert scores, "an empty list has no value to ask for"
            assert all(a > b for a, b in pairwise(scores))
            assert all(isinstance(s, float) and s == int(s) > 0 for s in scores)
            assert all(isinstance(g, int) for g in judged.values())
            for code in (*judged, *run[q]):
                assert isinstance(code, str)
                assert code.isdecimal()
                assert len(code) <= 7
            values.append(self.one(measure, [judged.get(d) for d in run[q]], list(judged.values())))
        return self.answer(values)


def traits(measure: Measure) -> Traits:
    return Traits(zero_without_gold(measure), looks_to(measure) == "whole list")


def graded(measure: Measure, bench: Bench, backend: Fake, n_boot: int = 50) -> Graded:
    judgments, lists = judge(bench[0]), enlist(*bench)
    pool = Pool(np.full(len(bench[0]), 50), "given")
    return grade_run(measure, judgments, lists, pool, backend, traits(measure), n_boot)


def made_bench(n: int, seed: int = 0) -> Bench:
    rng = np.random.default_rng(seed)
    names = [f"d{x:02d}" for x in range(15)]
    qrels = {
        f"q{q:04d}": {str(d): int(g) for d, g in zip(rng.choice(names, 4, False), (2, 1, 0, -1), strict=True)}
        for q in range(n)
    }
    return qrels, in_single_file({q: rng.permutation(names)[:8].tolist() for q in qrels})


@settings(max_examples=40, deadline=None)
@given(benches())
def test_a_backend_that_agrees_gives_the_score_and_the_kernel_the_nulls(bench: Bench) -> None:
    for measure in MEASURES:
        backend = Fake()
        found = graded(measure, bench, backend)
        expected = [value(measure, ranking(bench[1][q]), bench[0][q]) for q in sorted(bench[0])]
        np.testing.assert_allclose(found.own, expected, rtol=0, atol=1e-12, err_msg=str(measure))
        np.testing.assert_allclose(found.ideal, make_case(measure, *bench, 50).ideal, rtol=0, atol=1e-12)
        assert (found.source, found.verified, found.exact) == ("backend", len(bench[0]), True)
        assert found.n_draws is None
        assert found.flags == ()
        assert len(backend.asked) <= 2  # the run, the ideal lists


@settings(max_examples=40, deadline=None)
@given(benches())
def test_grading_through_a_backend_equals_the_kernel_on_every_pair(bench: Bench) -> None:
    """Lists are cut, judgments recoded and pairs without a hit left out: none of it may change a value."""
    judgments, lists = judge(bench[0]), enlist(*bench)
    for measure in MEASURES:
        through = backend_grade(measure, judgments, Fake(), traits(measure))
        kernel, own = kernel_grade(measure, judgments), np.zeros(len(bench[0]))
        mine, theirs = (cross_scores(measure, judgments, lists, g, own) for g in (kernel, through))
        np.testing.assert_allclose(theirs.dense(), mine.dense(), rtol=0, atol=1e-12, err_msg=str(measure))


def one_query_off(by: float) -> Fake:
    def answer(values: list[float]) -> list[float]:
        return [v + by * (n == 2) for n, v in enumerate(values)] if len(values) == 6 else values

    return Fake(answer=answer)


def test_a_backend_that_differs_grades_the_nulls_itself() -> None:
    bench = made_bench(6)
    qrels, run = {q: {**j, "d00": 2} for q, j in bench[0].items()}, {q: [["d00"], *g] for q, g in bench[1].items()}
    run = {q: [["d00"], *(g for g in groups[1:] if g != ["d00"])] for q, groups in run.items()}
    backend = one_query_off(-1e-6)
    found = graded(Measure("nDCG", 5), (qrels, run), backend)
    (flag,) = found.flags
    assert flag.code == "kernel_differs"
    assert "'q0002'" in flag.message
    assert "fake gives 0." in flag.message
    assert (found.source, found.verified, found.exact, found.n_draws) == ("backend", 6, False, 50)
    before = len(backend.asked)
    found.grade(*_one_hit())
    assert len(backend.asked) == before + 1
    assert graded(Measure("nDCG", 5), (qrels, run), one_query_off(-1e-10)).flags == ()
    tolerant = one_query_off(-1e-6)
    tolerant.near = 1e-5
    assert graded(Measure("nDCG", 5), (qrels, run), tolerant).flags == ()


def _one_hit() -> tuple[Hits, Ints, Ints]:
    return Hits(np.array([0]), np.array([1]), np.array([2])), np.array([0]), np.array([3])


def half(measure: Measure, docs: list[int | None], judged: list[int]) -> float:
    return score(measure, docs, judged) / 2


def test_the_nulls_of_a_backend_that_differs_are_its_own() -> None:
    bench = made_bench(8)
    measure = Measure("nDCG", 5)
    judgments, lists, pool = judge(bench[0]), enlist(*bench), Pool(np.full(8, 50), "given")
    found = graded(measure, bench, Fake(one=half))
    plain = make_case(measure, *bench, 50)
    case = Case(measure, judgments, lists, pool, found.grade, found.own, found.ideal, None, found.n_draws)
    (mine,), (theirs,) = examine([plain], Settings(n_boot=50)), examine([case], Settings(n_boot=50))
    assert theirs.score == pytest.approx(mine.score / 2)
    assert theirs.ceiling == pytest.approx(mine.ceiling / 2)
    assert theirs.popularity == pytest.approx(mine.popularity / 2)
    for name in "ABD":
        np.testing.assert_allclose(theirs.nulls[name].per_query, mine.nulls[name].per_query / 2, atol=1e-12)
    assert theirs.nulls["C"].method == "simulated"
    assert abs(theirs.nulls["C"].mean - mine.nulls["C"].mean / 2) < 4 * theirs.nulls["C"].se


def test_a_measure_without_a_kernel_is_the_backend_s_alone() -> None:
    bench = made_bench(7)
    backend = Fake(one=lambda _, docs, __: 0.25 + 0.5 * (docs[0] == 2))
    found = graded(Measure("Mystery"), bench, backend, 1000)
    assert found.own.tolist() == [0.25 + 0.5 * (bench[0][q].get(bench[1][q][0][0]) == 2) for q in sorted(bench[0])]
    assert (found.source, found.exact, found.n_draws) == ("backend", False, 1000)
    # All that is judged is shown, and the whole list: nothing is known of what the measure looks at.
    (qrels, run), *_ = backend.asked
    assert all(sorted(judged.values()) == [-1, 0, 1, 2] for judged in qrels.values())
    assert all(len(docs) == 8 for docs in run.values())


def test_fewer_draws_where_a_backend_grades_many_queries() -> None:
    backend = Fake(one=lambda *_: 0.5)
    draws = {n: graded(Measure("Mystery"), made_bench(n), backend, 1000).n_draws for n in (20, 100, 1100)}
    assert draws == {20: 1000, 100: 333, 1100: 30}
    assert graded(Measure("Mystery"), made_bench(1100), backend, 10).n_draws == 10


def test_on_large_runs_the_kernel_is_checked_on_a_thousand_queries() -> None:
    bench = made_bench(1300)
    backend = Fake()
    found = graded(Measure("AP"), bench, backend)
    assert (found.source, found.verified, found.exact) == ("kernel", VERIFY, True)
    assert found.flags == ()
    np.testing.assert_allclose(found.own, make_case(Measure("AP"), *bench, 50).own, rtol=0, atol=1e-15)
    assert sum(len(qrels) for qrels, _ in backend.asked) <= VERIFY


def test_on_large_runs_a_difference_turns_everything_over_to_the_backend() -> None:
    found = graded(Measure("AP"), made_bench(1300), Fake(one=half))
    assert (found.source, found.verified, found.exact) == ("backend", 1300, False)
    assert [flag.code for flag in found.flags] == ["kernel_differs"]


def test_long_lists_are_asked_for_in_several_calls() -> None:
    n, long = 40, CHUNK // 20
    qrels = {f"q{q:02d}": {f"q{q:02d}": 1} for q in range(n)}
    run = {q: [[f"x{d}"] for d in range(long - 1)] + [[q]] for q in qrels}
    backend = Fake()
    found = graded(Measure("RR"), (qrels, run), backend)
    np.testing.assert_allclose(found.own, 1 / long, rtol=1e-12)
    assert len(backend.asked) > 2
    assert all(sum(map(len, r.values())) <= CHUNK + long for _, r in backend.asked)


def test_lists_are_cut_behind_the_cutoff_and_behind_the_last_judged_document() -> None:
    qrels = {"a": {"d0": 1, "d1": 1, "d2": 0}, "b": {"d3": 1}, "c": {"d4": 0}}
    run = in_single_file({"a": ["x0", "d0", "x1", "x2", "d1", "d2"], "b": ["x0", "x1"], "c": ["d4"]})
    backend = Fake()
    graded(Measure("AP", 4), (qrels, run), backend)
    # Only a has a hit inside the cutoff, at rank 2; its other gold document is judged and not in the list.
    assert backend.asked[0] == ({"0": {"2": 1, "3": 1}}, {"0": {"1": 2.0, "2": 1.0}})
    backend = Fake()
    graded(Measure("bpref"), (qrels, run), backend)
    assert backend.asked[0][0] == {"0": {"2": 1, "5": 1, "6": 0}}


def test_a_query_without_gold_at_the_level_is_0_and_never_asked_for() -> None:
    """ranx gives NaN there, others crash."""
    qrels = {"a": {"d0": 2, "d1": 1, "d2": 0}, "b": {"d0": 1, "d1": 0}, "c": {"d0": -1}}
    run = in_single_file({q: ["d1", "d0"] for q in qrels})
    for measure in (Measure("bpref", None, 2), Measure("AP", None, 2), Measure("Mystery", None, 2)):
        backend = Fake(one=lambda *_: 0.5)
        found = backend_grade(measure, judge(qrels), backend, traits(measure))
        case = make_case(Measure("AP"), qrels, run)
        assert own_values(measure, case.judgments, case.lists, found).tolist() == [0.5, 0.0, 0.0]
        assert [len(asked) for asked, _ in backend.asked] == [1]


def test_empty_lists_never_matter() -> None:
    bench = made_bench(6)
    emptied = {**bench[1], "q0001": [], "q0004": []}
    for measure in (Measure("AP"), Measure("nDCG", 3), Measure("Mystery")):
        backend = Fake(one=lambda _, docs, judged: score(Measure("AP"), docs, judged))
        found = graded(measure, (bench[0], emptied), backend)
        assert found.own[[1, 4]].tolist() == [0, 0]


def answering(answer: Callable[[list[float]], Sequence[float]]) -> Fake:
    return Fake(answer=answer)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda v: [*v[:-1], float("nan")], r"fake gives no number \(NaN\) for nDCG@5 on a query with \d judgments"),
        (lambda v: v[:-1], r"fake gave 5 values of nDCG@5 for 6 queries"),
        (lambda v: [*v, 0.5], r"fake gave 7 values of nDCG@5 for 6 queries"),
        (lambda v: [1.3, *v[1:]], r"fake gives 1\.3 for nDCG@5, and the gate is for measures in \[0, 1\]"),
        (lambda v: [-0.2, *v[1:]], r"fake gives -0\.2 for nDCG@5"),
        (lambda v: [float("inf"), *v[1:]], r"fake gives inf for nDCG@5"),
        (lambda v: [None, *v[1:]], r"fake stopped at nDCG@5: TypeError"),
        (lambda _: None, r"fake stopped at nDCG@5: TypeError"),
    ],
    ids=["nan", "too few", "too many", "above 1", "below 0", "infinite", "none among them", "nothing"],
)
def test_answers_that_are_no_scores(answer: Callable[[list[float]], Sequence[float]], message: str) -> None:
    bench = made_bench(6)
    run = {q: [[d] for d in sorted(bench[0][q])] for q in bench[0]}  # every query has a hit
    with pytest.raises(BackendError, match=message):
        graded(Measure("nDCG", 5), (bench[0], run), answering(answer))


def test_a_stranger_s_exception_names_backend_and_measure_and_keeps_its_cause() -> None:
    def broken(_: list[float]) -> list[float]:
        raise ZeroDivisionError("float division by 0")

    with pytest.raises(BackendError, match=r"^fake stopped at AP: ZeroDivisionError: float division by 0$") as caught:
        graded(Measure("AP"), made_bench(6), answering(broken))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_errors_of_our_own_pass_through_unchanged() -> None:
    error = MeasureError("not this one", mend="Another.")

    def refuse(_: list[float]) -> list[float]:
        raise error

    with pytest.raises(MeasureError) as caught:
        graded(Measure("AP"), made_bench(6), answering(refuse))
    assert caught.value is error


def test_keyboard_interrupts_are_no_fault_of_a_backend() -> None:
    def stop(_: list[float]) -> list[float]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graded(Measure("AP"), made_bench(6), answering(stop))


@pytest.mark.parametrize("slip", [1.0 + 5e-7, -5e-7])
def test_rounding_of_a_backend_is_no_offence(slip: float) -> None:
    backend = Fake(one=lambda *_: slip)
    assert (graded(Measure("Mystery"), made_bench(6), backend).own == slip).all()

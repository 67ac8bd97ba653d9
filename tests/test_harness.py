"""`floor --simulate`: a sound harness agrees with the floor; planted faults are named."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.adapters.builtin import BuiltinBackend
from falsify_adapters.core.chunk_null import ChunkPool
from falsify_adapters.core.races import ChunkCounts
from falsify_adapters.errors import InputError, OptionError
from falsify_adapters.grading import Traits
from falsify_adapters.harness import Trial, harness, simulate
from falsify_adapters.harness_ids import urn_of_ids, urn_of_number
from falsify_adapters.measures import Measure, looks_to, parse, zero_without_gold
from falsify_adapters.model import Pool
from falsify_adapters.noise_checks import Bench
from falsify_adapters.ranking import Coded, code_qrels, rank
from falsify_adapters.readers import read_qrels
from falsify_adapters.units import by_regex, by_separator, by_table

FAMILIES = ("P@5", "R@10", "Success@5", "RR@10", "RR", "AP", "AP@10", "nDCG@10", "nDCG", "Rprec", "RBP", "bpref")
QRELS = {f"q{q}": {f"d{(5 * q + i) % 40}": (1, 2, 0, 1)[i % 4] for i in range(2 + q % 5)} for q in range(30)}
DOCS = [f"d{n}" for n in range(40)]
CHUNKS = [f"{d}#{i}" for n, d in enumerate(DOCS) for i in range(1 + n % 7)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "docs.txt").write_text("\n".join(DOCS), encoding="utf-8")
    (tmp_path / "chunks.txt").write_text("\n".join(CHUNKS), encoding="utf-8")
    return tmp_path


def checks(measures: Any, qrels: Any = QRELS, **options: Any) -> dict[str, Any]:
    """One seed for all, so that no sound case is the one in a hundred; the test of p is what holds the level."""
    found = fa.floor(qrels, measures, **{"simulate": 30, "backend": "builtin", "seed": 1, **options})
    return {row["measure"]: row["harness"] for row in found.data["results"]}


def passes(found: Mapping[str, Any]) -> None:
    for measure, check in found.items():
        assert (measure, check["verdict"], check["why"]) == (measure, "pass", [])
        assert check["p"] > 0.01
        assert check["score"] == pytest.approx(check["kernel"], abs=1e-6)
        assert abs(check["score"] - check["expected"]) < 4 * check["sd"]


@pytest.mark.parametrize("backend", ["builtin", "pytrec_eval", "ir_measures"])
@pytest.mark.parametrize("options", [{"pool": "docs.txt"}, {"chunks": "chunks.txt", "unit_sep": "#"}])
def test_a_sound_harness_agrees(files: Path, options: dict[str, str], backend: str) -> None:
    """Through each backend, every family that it computes (pytrec_eval has no RBP, and no RR with a cutoff)."""
    given = {k: v if k == "unit_sep" else str(files / v) for k, v in options.items()}
    lacks = {"pytrec_eval": ("RBP", "RR@10"), "ir_measures": ("RBP",), "builtin": ()}[backend]
    measures = [m for m in FAMILIES if m not in lacks] + (["ERR@10"] if backend == "builtin" else [])
    found = checks(measures, backend=backend, **given)
    passes(found)
    assert {check["backend"] for check in found.values()} == {backend}
    assert {check["ids"] for check in found.values()} == {"chunks" if "chunks" in given else "documents"}
    laws = {check["law"] for check in found.values()}
    assert laws == {"simulated"} if "chunks" in given else laws <= {"exact", "grid", "drawn"}


def test_p_is_uniform_over_seeds_of_a_sound_harness(files: Path) -> None:
    """So the level is what it says: of 50 seeds hardly one is below 0.01, and about half are below one half."""
    p = [checks("nDCG@10", pool=str(files / "docs.txt"), seed=seed, simulate=10)["nDCG@10"]["p"] for seed in range(50)]
    assert sum(x <= 0.01 for x in p) <= 3
    assert 13 <= sum(x <= 0.5 for x in p) <= 37


def test_the_floor_is_that_of_the_depth_of_the_runs(files: Path) -> None:
    row = fa.floor(QRELS, "AP", pool=str(files / "docs.txt"), depth=12, simulate=10, backend="builtin")["AP"]
    assert (row["harness"]["depth"], row["harness"]["expected"]) == (12, row["expected"])
    deep = fa.floor(QRELS, "AP", pool=3000, simulate=5, backend="builtin")["AP"]
    shallow = fa.floor(QRELS, "AP", pool=3000, depth=1000)["AP"]
    assert deep["harness"]["depth"] == 1000
    assert deep["harness"]["expected"] == shallow["expected"] < deep["expected"]
    assert deep["harness"]["verdict"] == "pass"


def test_pools_known_by_number_candidates_and_lists(files: Path) -> None:
    passes(checks(("RR@10", "AP"), pool=200))
    rows = [f"{q} {d}" for n, q in enumerate(QRELS) for d in [*QRELS[q], *(f"x{i}" for i in range(3 + n % 4))]]
    (files / "candidates.txt").write_text("\n".join(rows), encoding="utf-8")
    passes(checks(("RR@10", "nDCG@10"), pool=f"candidates:{files / 'candidates.txt'}"))
    run = {q: {d: float(n) for n, d in enumerate([*judged, "x1", "x2", "x3"])} for q, judged in QRELS.items()}
    passes(checks(("RR@10", "nDCG@10"), pool="run", run=run))


def test_queries_that_are_documents_are_dropped_from_their_lists() -> None:
    qrels = {f"d{q}": {f"d{q + 30}": 1, f"d{q + 31}": 1} for q in range(25)}
    ids = [f"d{n}" for n in range(60)]
    passes(checks(("RR@10", "AP"), qrels, pool=60, drop_self=True))
    coded = code_qrels(read_qrels(qrels))
    found = trial(coded, ids, pool=Pool(np.full(25, 59), "file"), drop_self=True, depth=60)
    assert not found.faults
    assert all((lists.depth == 59).all() for lists in found.lists)


def test_what_was_not_asked_for_is_null() -> None:
    found = fa.floor(QRELS, "RR@10", pool=40)
    assert found["RR@10"]["harness"] is None
    assert not found.failed


def coded_of(qrels: Any = QRELS) -> Coded:
    return code_qrels(read_qrels(qrels))


def trial(
    coded: Coded, ids: Sequence[str], *, pool: Pool | int, units: Any = None, chunks: ChunkPool | None = None,
    runs: int = 20, **options: Any,
) -> Trial:  # fmt: skip
    n = coded.judgments.n_queries
    if isinstance(pool, int):
        pool = Pool(np.full(n, pool, np.int64), "given")
    bench = Bench(coded.judgments, pool, pool.size, chunks, 0)
    return simulate(coded, urn_of_ids(ids, coded, units), bench, runs=runs, **options)


def judged(found: Trial, measure: str = "RR@10", backend: Any = None) -> dict[str, Any]:
    m = parse(measure)
    return harness(m, backend or BuiltinBackend(), Traits(zero_without_gold(m), looks_to(m) == "whole list"), found)


def why(found: Mapping[str, Any]) -> str:
    assert found["verdict"] == "differs"
    return " ".join(found["why"])


def test_a_number_in_chunks_is_named() -> None:
    found = judged(trial(coded_of(), CHUNKS, pool=len(CHUNKS), units=by_separator("#")))
    assert why(found).startswith(f"N: the floor is for {len(CHUNKS)} documents, and the {len(CHUNKS)} ids are 40 ")
    assert found["p"] < 1e-6
    assert found["score"] > found["expected"]


def test_a_pool_file_in_chunks_is_named(files: Path) -> None:
    found = checks("RR@10", pool=str(files / "chunks.txt"), unit_sep="#")["RR@10"]
    assert found["ids"] == "chunks"
    assert "N: the floor is for" in why(found)
    plain = checks("RR@10", pool=str(files / "chunks.txt"))["RR@10"]
    assert "units: 124 ids are chunks of gold documents by the separator '#'" in why(plain)


def test_a_pool_file_in_documents_is_not_mapped_again(files: Path) -> None:
    qrels = {q: {d.replace("d", "d-"): g for d, g in judged.items()} for q, judged in QRELS.items()}
    (files / "docs.txt").write_text("\n".join(d.replace("d", "d-") for d in DOCS), encoding="utf-8")
    passes(checks("RR@10", qrels, pool=str(files / "docs.txt"), unit_sep="-"))


def test_a_separator_that_cuts_too_much_is_named(files: Path) -> None:
    """Documents "d3-1" of chunks "d3-1#0", cut at the last "-": only "d3" is left."""
    qrels = {q: {f"{d}-{int(d[1:]) % 2}": g for d, g in judged.items()} for q, judged in QRELS.items()}
    ids = [f"{d}-{int(d[1:]) % 2}#{i}" for d in DOCS for i in range(3)]
    (files / "chunks.txt").write_text("\n".join(ids), encoding="utf-8")
    found = checks("RR@10", qrels, chunks=str(files / "chunks.txt"), unit_sep="-")["RR@10"]
    assert "units: separator '-' makes 'd0' of 'd0-0#" in why(found)
    assert "and the qrels have the document 'd0-0'" in why(found)
    passes(checks("RR@10", qrels, chunks=str(files / "chunks.txt"), unit_sep="#"))


def test_a_separator_that_cuts_nothing_is_named(files: Path) -> None:
    found = checks("RR@10", chunks=str(files / "chunks.txt"), unit_sep="/")["RR@10"]
    assert "by the separator '#', and separator '/' does not cut them" in why(found)


def test_ids_without_a_document_are_named() -> None:
    known = by_table({c: c.split("#")[0] for c in CHUNKS[:-4]})
    counts = ChunkCounts.of(np.array([1 + n % 7 for n in range(40)]))
    coded = coded_of()
    weight = np.array([1 + int(coded.docs[int(d)][1:]) % 7 for d in coded.judgments.doc])
    found = judged(trial(coded, CHUNKS, pool=40, units=known, chunks=ChunkPool(counts, weight, None)))
    assert "units: map gives 4 ids no document" in why(found)
    assert f"units: the floor is for {len(CHUNKS)} chunks of 40 documents, and the ids are {len(CHUNKS) - 4}" in why(
        found
    )
    with pytest.raises(InputError, match="no ids to draw from"):
        urn_of_ids(CHUNKS, coded, by_regex("(nothing)"))


@pytest.mark.parametrize("spelled", [str.upper, "docs/{}.txt".format, "{}.pdf".format, lambda d: f"d00{d[1:]}"])
def test_gold_spelled_otherwise_is_named(files: Path, spelled: Any) -> None:
    (files / "docs.txt").write_text("\n".join(map(spelled, DOCS)), encoding="utf-8")
    for measure in ("RR@10", "AP"):
        found = checks(measure, pool=str(files / "docs.txt"))[measure]
        assert found["score"] == found["expected"] == 0
        assert "gold: 32 gold documents are spelled otherwise in the pool, " in why(found)
        assert "32 of 32 gold documents do not occur" in why(found)


def test_gold_that_is_nowhere_is_counted_and_is_a_fault_where_it_is_all(files: Path) -> None:
    (files / "docs.txt").write_text("\n".join([*DOCS[:-1], "other"]), encoding="utf-8")
    found = checks("RR@10", pool=str(files / "docs.txt"))["RR@10"]
    assert found["verdict"] == "pass"
    assert found["why"] == [
        "gold: 1 of 32 gold documents does not occur among the documents of the pool: 'd39'. The floor counts them as "
        "out of reach."
    ]
    (files / "docs.txt").write_text("\n".join(f"other{n}" for n in range(40)), encoding="utf-8")
    assert "gold: 32 of 32 gold" in why(checks("RR@10", pool=str(files / "docs.txt"))["RR@10"])


class Reversed(BuiltinBackend):
    """Takes low scores for good ones."""

    name = "reversed"

    def score(
        self, measure: Measure, qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
    ) -> Sequence[float]:
        return super().score(measure, qrels, {q: {d: -s for d, s in listed.items()} for q, listed in run.items()})


@pytest.mark.parametrize("measure", ["RR@10", "nDCG@10", "AP"])
def test_a_backend_that_reverses_is_named(measure: str) -> None:
    drawn = trial(coded_of(), DOCS, pool=40)
    found = judged(drawn, measure, Reversed())
    assert why(found).startswith("ranking: reversed gives ")
    assert len(found["why"]) == 1
    sound = judged(drawn, measure)
    assert sound["verdict"] == "pass"
    assert found["kernel"] == sound["score"]


def test_lists_of_another_length_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not trial(coded_of(), DOCS, pool=40).faults

    def cut(*given: Any, **options: Any) -> Any:
        return rank(*given, **options, depth=20)

    monkeypatch.setattr("falsify_adapters.harness.rank", cut)
    found = judged(trial(coded_of(), DOCS, pool=40))
    assert "ranking: 600 lists of 600 are not as long as what was drawn for them." in why(found)


def test_chunks_against_a_floor_of_documents_are_named() -> None:
    """N is right, and the gold is in the long documents."""
    qrels = {f"q{q}": {f"d{7 * (q % 5) + 6}": 1} for q in range(30)}
    found = judged(trial(coded_of(qrels), CHUNKS, pool=40, units=by_separator("#"), runs=100))
    assert "units: documents have 1 to 7 chunks" in why(found)


def test_a_difference_without_a_cause_says_so() -> None:
    """A floor for other grades than those of the lists: no exact check can see it."""
    coded = coded_of()
    drawn = trial(coded, DOCS, pool=40, runs=100)
    half = Pool(np.full(30, 40, np.int64), "given", inside=np.arange(len(coded.judgments.doc)) % 2 == 0)
    found = judged(replace(drawn, bench=replace(drawn.bench, pool=half)))
    assert "try another --seed" in why(found)
    assert found["p"] < 1e-3


def test_few_lists_without_a_judged_document_score_0() -> None:
    coded = coded_of({"q": {"a": 1}, "r": {"b": 1}})
    drawn = simulate(
        coded, urn_of_number(Pool(np.full(2, 5000), "given"), coded),
        Bench(coded.judgments, Pool(np.full(2, 5000), "given"), np.full(2, 5000), None, 0), runs=3, depth=2,
    )  # fmt: skip
    assert [lists.depth.tolist() for lists in drawn.lists] == [[2, 2]] * 3
    assert judged(drawn)["score"] == 0


def test_invented_ids_are_none_of_the_users() -> None:
    coded = coded_of({"q": {"filler1": 1, "filler-2": 1}})
    urn = urn_of_number(Pool(np.array([9]), "given"), coded)
    ids = urn.take(np.arange(9))
    assert ids.n_unique() == urn.n_documents == 9
    assert ids[:2].to_list() == coded.docs.to_list()


def test_invented_documents_cost_nothing() -> None:
    coded = coded_of({f"q{n}": {f"d{n}": 1} for n in range(30)})
    urn = urn_of_number(Pool(np.full(30, 10**12), "given"), coded)
    bench = Bench(coded.judgments, Pool(np.full(30, 10**12), "given"), np.full(30, 10), None, 0)
    trial = simulate(coded, urn, bench, runs=3, depth=50)
    assert len(trial.lists) == 3
    assert not trial.faults


def test_a_run_that_would_fill_the_memory_is_refused_with_a_depth_that_is_not() -> None:
    """The size of the pool costs nothing; ten million ids in a run are the limit, for one query or three."""
    wide = {f"q{n}": {f"d{n}": 1} for n in range(3)}
    with pytest.raises(
        OptionError, match=r"lists of 100000000 ids a query make 300000000 .* Give --depth 3333333 or fewer queries"
    ):
        checks("AP", wide, pool=10**9, depth=10**8, simulate=2)
    with pytest.raises(OptionError, match=r"Give --depth 10000000\. The size"):
        checks("AP", {"q": {"d": 1}}, pool=10**15, depth=10**9, simulate=2)
    assert checks("AP", wide, pool=10**15, depth=1000, simulate=2)["AP"]["depth"] == 1000


def test_documents_evaluated_at_most_cut_simulated_lists(files: Path) -> None:
    """-M is the depth of lists of documents, and no depth of lists of chunks."""
    whole, cut = (checks("R@10", pool=40, max_docs=m)["R@10"] for m in (None, 4))
    passes({"R@10": cut})
    assert (whole["depth"], cut["depth"]) == (40, 4)
    assert cut["expected"] == pytest.approx(0.4 * whole["expected"])
    assert checks("R@10", pool=40, max_docs=9, depth=3)["R@10"]["depth"] == 3
    with pytest.raises(OptionError, match=r"-M: .*--depth K, which counts chunks"):
        checks("R@10", pool=str(files / "chunks.txt"), unit_sep="#", max_docs=4)


def test_the_command_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels = files / "qrels.txt"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, j in QRELS.items() for d, g in j.items()), encoding="utf-8")
    call = ["floor", str(qrels), "-m", "RR@10", "--simulate", "10", "--backend", "builtin", "--unit-sep", "#"]
    assert cli.run([*call, "--chunks", str(files / "chunks.txt")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "Does the harness agree with the floor? pass 10 simulated runs of 155 chunks a query, through builtin" in said
    )
    assert cli.run([*call, "--pool", str(files / "chunks.txt"), "--format", "json"]) == 1
    made = json.loads(capsys.readouterr().out)
    assert made["results"][0]["harness"]["verdict"] == "differs"
    assert (made["settings"]["simulate"], made["settings"]["backend"]) == (10, "builtin")
    assert cli.run([*call[:4], "--backend", "builtin"]) == 2
    assert "no backend is asked" in capsys.readouterr().err
    assert cli.run([*call[:4], "--simulate", "1"]) == 2
    with pytest.raises(OptionError, match="--simulate"):
        checks("RR@10", pool=40, simulate=1)


def test_cranfield_in_chunks(shared: Path) -> None:
    folder = shared / "data" / "corpora" / "cranfield"
    found = fa.floor(
        folder / "qrels.txt", "RR@10", chunks=str(folder / "chunk_ids.txt.gz"), unit_sep="#", simulate=10
    )["RR@10"]  # fmt: skip
    check = found["harness"]
    assert (check["verdict"], check["depth"], check["backend"]) == ("pass", 1000, "ir_measures")
    assert check["expected"] == pytest.approx(found["expected"], rel=1e-12)
    assert abs(check["score"] - 0.0151902) < 4 * check["sd"]

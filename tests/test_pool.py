"""Where N comes from: every kind of pool, against sets counted by hand, and what contradicts it."""

from __future__ import annotations

import gzip
import json
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import falsify_adapters as fa
from falsify_adapters.core.floors import expectation
from falsify_adapters.errors import InputError, MissingInputError, OptionError
from falsify_adapters.measures import parse
from falsify_adapters.model import Pool
from falsify_adapters.pool import Entrant, resolve
from falsify_adapters.ranking import code_qrels, rank
from falsify_adapters.readers import read_qrels, read_run

Qrels = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

# Six documents judged (a to f), g and h only retrieved; q9 is in the run alone.
QRELS: Qrels = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"d": 1, "e": 1}, "q3": {"f": 1}}
RUN: Scores = {"q1": {"a": 3, "b": 2, "g": 1}, "q2": {"d": 2, "c": 1}, "q3": {"h": 1}, "q9": {"z": 1}}


def entrant(run: Scores = RUN, qrels: Qrels = QRELS, *, drop_self: bool = False, depth: int | None = None) -> Entrant:
    coded = code_qrels(read_qrels(qrels))
    return Entrant("my.run", coded, rank(read_run(run), coded, drop_self=drop_self, depth=depth))


def pool_of(spec: object, *, drop_self: bool = False, **more: object) -> Pool:
    made = entrant(drop_self=drop_self, **more)  # type: ignore[arg-type]
    return resolve(spec, [made], drop_self=drop_self)[0]  # type: ignore[arg-type]


def inside(pool: Pool, qrels: Qrels = QRELS) -> dict[tuple[str, str], bool]:
    """Whether each judged document lies in the pool, by name."""
    pairs = [(q, d) for q in sorted(qrels) for d in sorted(qrels[q])]
    if pool.inside is None:
        return dict.fromkeys(pairs, True)
    return dict(zip(pairs, pool.inside.tolist(), strict=True))


def refused(kind: type[Exception], spec: object, **more: object) -> str:
    with pytest.raises(kind) as caught:
        pool_of(spec, **more)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    "spec", [1200, np.int64(1200), 1200.0, np.float64(1.2e3), "1200", " 1200 ", "1_200", "1,200", "+1200", "1.2e3"]
)
def test_a_number_in_any_spelling(spec: object) -> None:
    pool = pool_of(spec)
    assert pool.size.tolist() == [1200] * 3
    assert (pool.source, pool.per_query, pool.inside) == ("given", False, None)


def test_observed_counts_qrels_and_all_runs_whatever_was_cut_or_left_out() -> None:
    """Nine documents: a to f judged, g, h, and z, which is listed for a query without judgments."""
    assert pool_of("observed").size.tolist() == [9] * 3
    assert pool_of("observed", depth=1).size.tolist() == [9] * 3
    other = entrant({"q1": {"x": 1.0, "a": 2.0}})
    both = resolve("observed", [entrant(), other])
    assert [p.size.tolist() for p in both] == [[10] * 3] * 2
    assert {p.source for p in both} == {"observed"}


def test_the_smallest_legal_number_is_what_was_seen() -> None:
    assert pool_of(9).size.tolist() == [9] * 3
    said = refused(OptionError, 8)
    assert "--pool: a pool of 8 documents is too small: qrels and runs name 9 distinct documents" in said
    assert "documents, not chunks" in said
    assert "--pool run" in said


def test_a_number_smaller_than_a_list_names_the_run() -> None:
    assert "a pool of 2 documents is too small: a list of my.run alone holds 3" in refused(OptionError, 2)


def test_a_number_smaller_than_what_is_judged_alone() -> None:
    made = entrant({"q1": {"a": 1.0}})
    with pytest.raises(OptionError, match="a pool of 5 documents is too small: qrels and runs name 6 distinct"):
        resolve(5, [made])


@pytest.mark.parametrize("spec", [0, -3, "0", "-1"])
def test_no_documents_are_no_pool(spec: object) -> None:
    assert "Legal: a whole number from 1 to" in refused(OptionError, spec)


@pytest.mark.parametrize("spec", ["2.5", "12.5", "nan", "inf", "1e-3", 2.5, float("nan"), float("inf")])
def test_a_pool_is_a_whole_number(spec: object) -> None:
    assert f"a pool of {spec} documents. Legal: a whole number" in refused(OptionError, spec)


@pytest.mark.parametrize("spec", [None, True, ["a"]])
def test_what_is_neither_number_nor_text_is_no_pool(spec: object) -> None:
    said = refused(OptionError, spec)
    assert f"{spec!r} is no pool" in said
    assert "Legal: a number, observed, run, candidates:FILE, ir_datasets:ID or a file of document ids" in said


@pytest.mark.parametrize("spec", ["abc", "1,5", "1__0", "candidates:abc"])
def test_a_file_that_is_not_there(spec: str) -> None:
    said = refused(MissingInputError, spec)
    assert f"--pool: there is no file {spec.removeprefix('candidates:')!r}" in said
    assert "Legal: a number, observed, run, candidates:FILE, ir_datasets:ID or a file of document ids" in said


def test_run_makes_each_list_its_pool() -> None:
    pool = pool_of("run")
    assert pool.size.tolist() == [3, 2, 1]
    assert pool.per_query
    assert {pair for pair, there in inside(pool).items() if there} == {("q1", "a"), ("q1", "b"), ("q2", "d")}


def test_run_with_a_query_that_is_not_answered() -> None:
    pool = pool_of("run", run={"q1": {"a": 1.0, "c": 2.0}})
    assert pool.size.tolist() == [2, 0, 0]
    assert [pair for pair, there in inside(pool).items() if there] == [("q1", "a"), ("q1", "c")]


# --- files of ids ----------------------------------------------------------------------------------------------------

COLLECTION = [*"abcdefgh", "i", "j"]


def written(path: Path, text: str) -> str:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


@pytest.mark.parametrize("name", ["ids.txt", "ids.txt.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\n\n", "\n# a comment\n"])
def test_ids_one_a_line(tmp_path: Path, name: str, end: str) -> None:
    text = "\ufeff" + "".join(f"{d}{end}" for d in [*COLLECTION, "a"])  # a repeat counts once
    pool = pool_of(written(tmp_path / name, text))
    assert (pool.size.tolist(), pool.source, pool.per_query, pool.inside) == ([10] * 3, "file", False, None)


@pytest.mark.parametrize("key", ["_id", "id", "doc_id", "docid", "docno", "pid"])
@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_ids_in_json_lines(tmp_path: Path, name: str, key: str) -> None:
    lines = [json.dumps({"title": "id: x", key: d, "text": "one\u2028two {"}, ensure_ascii=False) for d in COLLECTION]
    assert pool_of(written(tmp_path / name, "\n".join(lines))).size.tolist() == [10] * 3


def test_whole_numbers_are_ids(tmp_path: Path) -> None:
    made = entrant({"q": {"7": 1.0}}, {"q": {"7": 1}})
    path = written(tmp_path / "c", '{"id": 7}\n{"id": "8"}\n')
    assert resolve(path, [made])[0].size.tolist() == [2]


def test_blanks_of_unicode_belong_to_an_id(tmp_path: Path) -> None:
    """As in runs: only blanks, tabs and line ends part ids."""
    doc = "d\u00a0\u0085\u2028"
    made = entrant({"q": {doc: 1.0}}, {"q": {doc: 1}})
    assert resolve(written(tmp_path / "c", f"{doc}\nx\n"), [made])[0].size.tolist() == [2]
    assert resolve("candidates:" + written(tmp_path / "d", f"q\t{doc}\nq x\n"), [made])[0].size.tolist() == [2]


def test_a_path_object_is_a_file(tmp_path: Path) -> None:
    written(tmp_path / "ids", "\n".join(COLLECTION))
    assert pool_of(tmp_path / "ids").size.tolist() == [10] * 3


def test_gold_outside_the_file_is_counted_flagged_and_in_the_ceiling(tmp_path: Path) -> None:
    """e and c (grade 2) are missing: R@10 of the best list is 1/2 for q1 and q2."""
    path = written(tmp_path / "ids", "\n".join("abdfghi"))
    run = {**RUN, "q2": {"d": 1.0}}
    pool = pool_of(path, run=run)
    assert {pair for pair, there in inside(pool).items() if not there} == {("q1", "c"), ("q2", "e")}
    entry = fa.gate(QRELS, run, "R@10", pool=path, backend="builtin", n_boot=100)["R@10"]
    said = next(f.message for f in entry.result.flags if f.code == "gold_outside_pool")
    assert said.startswith("2 of 5 gold documents lie outside the pool")
    assert entry.result.ceiling == pytest.approx((0.5 + 0.5 + 1) / 3)
    # R@10 under random retrieval: (G_in / G) (m / N), N = 7.
    assert entry.result.floor == pytest.approx((0.5 * 3 / 7 + 0.5 * 1 / 7 + 1 * 1 / 7) / 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\nb\nd\tsome text\n", ["line 3: several fields in 'd\\tsome text'", "one document id a line"]),
        ('a\n{"id": \n', ["line 2: not JSON"]),
        ('{"title": "x", "name": 1}\n', ["line 1: no id in an object with the keys name, title", "_id, id, doc_id"]),
        ('{"id": null}\n', ["line 1: the id None under 'id' is no id"]),
        ('{"id": 1.5}\n', ["the id 1.5 under 'id' is no id", "text or a whole number"]),
        ("", ["no document ids", "one document id a line, or JSON Lines"]),
        ("# only a comment\n\n", ["no document ids"]),
        ("a\n", ["holds 1 documents, and not 6 of those that my.run lists", "'b', 'c', 'd', 'g', 'h'", "not chunks"]),
    ],
)
def test_a_file_that_cannot_be_a_collection(tmp_path: Path, text: str, words: list[str]) -> None:
    path = written(tmp_path / "ids", text)
    run = {**RUN, "q3": {"h": 1.0, "f": 0.5}} if text == "a\n" else RUN
    said = refused(InputError, path, run=run)
    if text == "a\n":
        words = [words[0], "'b', 'c', 'd', 'f', 'g' and 1 more", words[2]]
    assert said.startswith(path)
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00", gzip.compress(b"a\n" * 99, mtime=0)[:-9], gzip.compress(b"", mtime=0)[:10] + b"\xff" * 9],
)
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ids").write_bytes(content)
    said = refused(InputError, str(tmp_path / "ids"))
    assert "cannot be read as text" in said
    assert "Legal: UTF-8, a text file, plain or .gz" in said


def test_a_folder(tmp_path: Path) -> None:
    assert "is a folder. Legal: a text file, plain or .gz. Name a file inside it." in refused(InputError, str(tmp_path))


# --- candidate lists -------------------------------------------------------------------------------------------------

CANDIDATES = "q1 a\nq1\tb\nq1  g\nq1 h\nq2 d\nq2 c\nq2 d\nq3 Q0 h 1 0.5 tag\nq9 z\n"


@pytest.mark.parametrize("name", ["c.tsv", "c.tsv.gz"])
def test_candidates_of_each_query(tmp_path: Path, name: str) -> None:
    pool = pool_of("candidates:" + written(tmp_path / name, CANDIDATES))
    assert (pool.size.tolist(), pool.source, pool.per_query) == ([4, 2, 1], "candidates", True)
    assert {pair for pair, there in inside(pool).items() if there} == {("q1", "a"), ("q1", "b"), ("q2", "d")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "q1 a b\n",
            ["line 1: 3 fields in 'q1 a b'", "two fields (query, document), the six of a TREC run, or JSON Lines"],
        ),
        ("q1 a\nq2 d\n", ["1 of 3 judged queries have no candidates: 'q3'", "--queries-file"]),
        (
            CANDIDATES.replace("q1  g", "q1 x"),
            ["my.run lists 'g' for query 'q1', which is not among its candidates", "candidates that the run ranked"],
        ),
        (CANDIDATES.replace("q2 c\n", ""), ["my.run lists 'c' for query 'q2'"]),
    ],
)
def test_candidates_that_contradict_the_run(tmp_path: Path, text: str, words: list[str]) -> None:
    path = written(tmp_path / "c", text)
    said = refused(InputError, f"candidates:{path}")
    assert said.startswith(path)
    for word in words:
        assert word in said


def test_candidates_may_be_the_run_itself(tmp_path: Path) -> None:
    """The same pools as `run`, by another way."""
    lines = "".join(f"{q} Q0 {d} 1 {s} t\n" for q, docs in RUN.items() for d, s in docs.items())
    by_file, by_run = pool_of("candidates:" + written(tmp_path / "r", lines)), pool_of("run")
    assert by_file.size.tolist() == by_run.size.tolist()
    np.testing.assert_array_equal(by_file.inside, by_run.inside)


# --- a query that is a document --------------------------------------------------------------------------------------

# q1 is a document (its own list and q2's hold it), q2 is one that its own list alone holds, q3 is none.
SELF_RUN: Scores = {"q1": {"q1": 9, "a": 3}, "q2": {"q2": 9, "q1": 2}, "q3": {"h": 1, "b": 0.5}}


def test_a_dropped_query_leaves_its_own_pool(tmp_path: Path) -> None:
    """Seen: a to f, h, q1, q2."""
    more = {"run": SELF_RUN, "drop_self": True}
    assert pool_of("observed", **more).size.tolist() == [8, 8, 9]  # type: ignore[arg-type]
    assert pool_of(100, **more).size.tolist() == [99, 99, 100]  # type: ignore[arg-type]
    assert pool_of("run", **more).size.tolist() == [1, 1, 2]  # type: ignore[arg-type]
    ids = written(tmp_path / "ids", "\n".join([*"abcdefgh", "q1", "q2", "other"]))
    assert pool_of(ids, **more).size.tolist() == [10, 10, 11]  # type: ignore[arg-type]
    rows = "q1 q1\nq1 a\nq1 b\nq2 q2\nq2 q1\nq2 d\nq3 h\nq3 b\n"
    candidates = "candidates:" + written(tmp_path / "c", rows)
    assert pool_of(candidates, **more).size.tolist() == [2, 2, 2]  # type: ignore[arg-type]
    assert pool_of(100, run=SELF_RUN).size.tolist() == [100] * 3


def test_a_query_judged_for_itself_lies_outside_its_pool(tmp_path: Path) -> None:
    qrels: Qrels = {"q1": {"a": 1, "q1": 0}, "q2": {"b": 1, "q1": 1}}
    run: Scores = {"q1": {"a": 1}, "q2": {"q1": 1}}
    ids = written(tmp_path / "ids", "a\nb\nq1\n")
    for spec in ("observed", 50, ids):
        pool = pool_of(spec, run=run, qrels=qrels, drop_self=True)
        assert [pair for pair, there in inside(pool, qrels).items() if not there] == [("q1", "q1")]
        assert pool.size[1] - pool.size[0] == 1


# --- in the report ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("observed", {"n": 9, "source": "observed"}),
        (500, {"n": 500, "source": "given"}),
        ("run", {"n": None, "n_min": 1, "n_max": 3, "source": "run"}),
    ],
)
def test_the_json_names_one_n_or_the_range(spec: object, expected: dict[str, object]) -> None:
    report = fa.gate(QRELS, RUN, "RR@10", pool=spec, backend="builtin", n_boot=100)  # type: ignore[arg-type]
    assert report.to_dict()["results"][0]["pool"] == expected


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 8), st.integers(1, 3), st.integers(0, 2**32))
def test_a_pool_of_its_own_list_makes_the_floor_the_mean_over_all_orders(n: int, gold: int, seed: int) -> None:
    """RR of a shuffled list of n with G gold in it, enumerated: sum over r of C(n-r, G-1) / C(n, G) / r."""
    gold = min(gold, n)
    docs = [f"d{i}" for i in range(n)]
    qrels = {"q": dict.fromkeys(docs[:gold], 1)}
    order = np.random.default_rng(seed).permutation(n)
    made = entrant({"q": {d: float(s) for d, s in zip(docs, order, strict=True)}}, qrels)
    pool = resolve("run", [made])[0]
    judgments, depth = made.coded.judgments, made.ranked.lists.depth
    expected = sum(comb(n - r, gold - 1) / comb(n, gold) / r for r in range(1, n - gold + 2))
    assert expectation(parse("RR"), judgments, pool.size, depth, pool.inside) == pytest.approx([expected], abs=1e-12)


def test_candidates_as_json_lines(tmp_path: Path) -> None:
    rows: dict[str, list[str]] = {}
    for line in CANDIDATES.splitlines():
        query, *fields = line.split()
        rows.setdefault(query, []).append(fields[0] if len(fields) == 1 else fields[1])
    forms = [
        [{"query_id": q, "candidates": docs} for q, docs in rows.items()],
        [{"qid": q, "docs": dict.fromkeys(docs, 0.5)} for q, docs in rows.items()],
        [{"query": q, "doc_ids": [doc]} for q, docs in rows.items() for doc in docs],
    ]
    plain = pool_of("candidates:" + written(tmp_path / "plain", CANDIDATES))
    for n, form in enumerate(forms):
        pool = pool_of("candidates:" + written(tmp_path / f"c{n}", "".join(json.dumps(row) + "\n" for row in form)))
        assert pool.size.tolist() == plain.size.tolist()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ('{"candidates": ["a"]}', "no id in an object with the keys candidates"),
        ('{"query_id": "q1"}', "no candidates of query 'q1'"),
        ('{"query_id": "q1", "candidates": "a"}', "a list of document ids under one of the keys candidates, docs"),
        ('{"query_id": "q1", "candidates": [1.5]}', "the id 1.5 under 'candidates' is no id"),
        ("[" * 100_000, "fields in"),
        ('{"query_id": ' + "[" * 100_000, "not JSON"),
    ],
)
def test_candidates_that_are_no_candidates(tmp_path: Path, line: str, words: str) -> None:
    path = written(tmp_path / "c", f"q1 a\n{line}\n")
    said = refused(InputError, f"candidates:{path}")
    assert words in said
    assert "line 2" in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"query_id": "q1", "candidates": ["a"]}', "a query with its candidates"),
        ("q1 a", "several fields in 'q1 a'"),
    ],
)
def test_candidates_in_place_of_ids_are_told_apart(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text(f"# made\n{line}\n", encoding="utf-8")
    said = refused(InputError, str(path))
    assert f"{path}, line 2: {words}" in said
    assert "--pool candidates:FILE" in said

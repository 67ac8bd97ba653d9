"""Objects in memory: the same table from every kind, and the same rules as for files."""

from __future__ import annotations

import copy
import gzip
from collections import namedtuple
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pytest

from falsify_adapters import gate, readers
from falsify_adapters.errors import InputError
from falsify_adapters.model import Qrels, Run

RUN_ROWS = [("q2", "d1", 3.5), ("q2", "d2", 2.5), ("q1", "d\u00a01", 9.0), ("q1", "d3", 1e-30)]
QRELS_ROWS = [("q2", "d1", 1), ("q2", "d2", -1), ("q1", "d\u00a01", 2), ("q1", "d3", 0)]


def rows(table: Run | Qrels) -> list[tuple[str, str, float]]:
    values = table.score if isinstance(table, Run) else table.grade
    return list(zip([table.queries[i] for i in table.query], table.doc.to_list(), values.tolist(), strict=True))


def nested(triples: list[tuple[str, str, Any]]) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for query, doc, value in triples:
        table.setdefault(query, {})[doc] = value
    return table


def run_sources(folder: Path) -> Iterator[object]:
    text = "".join(f"{q} Q0 {d} {i} {s} t\n" for i, (q, d, s) in enumerate(RUN_ROWS)).encode()
    (folder / "a.run").write_bytes(text)
    (folder / "b.run.gz").write_bytes(gzip.compress(text))
    yield from (folder / "a.run", str(folder / "b.run.gz"), nested(RUN_ROWS))
    for names in (("query_id", "doc_id", "score"), ("qid", "docno", "score"), ("q_id", "doc_id", "score")):
        yield pd.DataFrame(RUN_ROWS, columns=list(names))
        yield pd.DataFrame(RUN_ROWS, columns=list(names)).astype({names[0]: "category", names[1]: object})
        yield pl.DataFrame(RUN_ROWS, schema=list(names), orient="row")
        yield pl.DataFrame(RUN_ROWS, schema=list(names), orient="row").lazy()
    yield [ir_measures.ScoredDoc(*row) for row in RUN_ROWS]
    yield (ir_measures.ScoredDoc(*row) for row in RUN_ROWS)
    yield [SimpleNamespace(query_id=q, doc_id=d, score=np.float64(s), extra=1) for q, d, s in RUN_ROWS]


def qrels_sources(folder: Path) -> Iterator[object]:
    text = "".join(f"{q} 0 {d} {g}\n" for q, d, g in QRELS_ROWS).encode()
    (folder / "a.qrels").write_bytes(text)
    (folder / "b.gz").write_bytes(gzip.compress(text))
    yield from (folder / "a.qrels", str(folder / "b.gz"), nested(QRELS_ROWS))
    yield nested([(q, d, float(g)) for q, d, g in QRELS_ROWS])
    yield nested([(q, d, np.int8(g)) for q, d, g in QRELS_ROWS])
    yield nested([(q, d, Decimal(g)) for q, d, g in QRELS_ROWS])
    for names in (("query_id", "doc_id", "relevance"), ("qid", "docno", "label"), ("q_id", "doc_id", "score")):
        yield pd.DataFrame(QRELS_ROWS, columns=list(names))
        yield pd.DataFrame(QRELS_ROWS, columns=list(names)).astype({names[2]: float})
        yield pd.DataFrame(QRELS_ROWS, columns=list(names)).astype({names[2]: "Int64", names[0]: "category"})
        yield pl.DataFrame(QRELS_ROWS, schema=list(names), orient="row")
    yield [ir_measures.Qrel(*row, "0") for row in QRELS_ROWS]
    yield (ir_measures.Qrel(*row, "0") for row in QRELS_ROWS)


def test_the_same_run_comes_from_every_source(tmp_path: Path) -> None:
    for source in run_sources(tmp_path):
        run = readers.read_run(source)
        assert rows(run) == RUN_ROWS, source
        assert run.queries == ("q2", "q1")
        assert (run.query.dtype, run.score.dtype, run.doc.dtype) == (np.int32, np.float64, pl.String)
        assert run.flags == ()
        assert readers.read_run(run) is run


def test_the_same_qrels_come_from_every_source(tmp_path: Path) -> None:
    for source in qrels_sources(tmp_path):
        qrels = readers.read_qrels(source)
        assert rows(qrels) == QRELS_ROWS, source
        assert qrels.queries == ("q2", "q1")
        assert (qrels.query.dtype, qrels.grade.dtype, qrels.doc.dtype) == (np.int32, np.int64, pl.String)
        assert readers.read_qrels(qrels) is qrels


def test_inputs_are_never_changed_nor_shared() -> None:
    table = {1: {2: 1, "b": 0}, "q": {"d": 1}}
    before = copy.deepcopy(table)
    readers.read_qrels(table)
    assert table == before
    frame = pd.DataFrame(RUN_ROWS, columns=["query_id", "doc_id", "score"])
    run = readers.read_run(frame)
    run.score[:] = 0
    pd.testing.assert_frame_equal(frame, pd.DataFrame(RUN_ROWS, columns=["query_id", "doc_id", "score"]))
    array = np.array([1, 2], dtype=np.int64)
    qrels = readers.read_qrels(pd.DataFrame({"qid": ["a", "a"], "docno": ["x", "y"], "label": array}, copy=False))
    qrels.grade[:] = 0
    assert array.tolist() == [1, 2]


def test_sources_of_objects_are_named_without_digest() -> None:
    run = readers.read_run({"q": {"d": 1.0}})
    assert (run.source.path, run.source.sha256, run.source.line_of, run.name) == ("<dict>", None, None, "run")
    named = readers.read_run({"q": {"d": 1.0}}, name="mine")
    assert (named.source.path, named.name) == ("mine", "mine")
    assert (
        readers.read_run(pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": [1]})).source.path == "<pandas DataFrame>"
    )


def test_whole_number_ids_are_written_as_text_and_said() -> None:
    for one in (1, np.int64(1), np.uint8(1)):
        qrels = readers.read_qrels({one: {7: 1}})
        assert rows(qrels) == [("1", "7", 1)]
        assert [f.code for f in qrels.flags] == ["ids_written_as_text"]
    for frame in (
        pd.DataFrame({"qid": [1, 2], "docno": [10, 7], "score": [1.0, 2.0]}),
        pl.DataFrame({"qid": [1, 2], "docno": [10, 7], "score": [1.0, 2.0]}),
        pd.DataFrame({"qid": [1, 2], "docno": [10, 7], "score": [1.0, 2.0]}).astype("Int64"),
    ):
        run = readers.read_run(frame)
        assert rows(run) == [("1", "10", 1.0), ("2", "7", 2.0)]
        assert [f.code for f in run.flags] == ["ids_written_as_text"]
    frame = pd.DataFrame({"qid": np.array([2**64 - 1], dtype=np.uint64), "docno": ["d"], "score": [1], "read": [1]})
    assert readers.read_run(frame).queries == (str(2**64 - 1),)
    big = readers.read_run({2**70: {"d": 1}})
    assert big.queries == (str(2**70),)


def test_ranks_of_a_frame_are_kept_where_they_are_whole_numbers() -> None:
    frame = pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "score": [1.0, 2.0], "rank": [1, 0]})
    run = readers.read_run(frame)
    assert run.rank is not None
    assert (run.rank.dtype, run.rank.tolist()) == (np.int32, [1, 0])
    for other in ([1.5, 2.0], ["a", "b"], [2**40, 1], [None, 1]):
        assert readers.read_run(frame.assign(rank=other)).rank is None


def test_pyterriers_inner_document_numbers_are_not_ids() -> None:
    frame = pd.DataFrame({"qid": ["q"], "docid": [5], "docno": ["d"], "rank": [0], "score": [1.0], "query": ["text"]})
    assert rows(readers.read_run(frame)) == [("q", "d", 1.0)]


def test_repeats_in_objects_follow_the_rule_of_files() -> None:
    same = [ir_measures.Qrel("q", "d", 1)] * 3
    qrels = readers.read_qrels(same)
    assert rows(qrels) == [("q", "d", 1)]
    assert "2 judgments repeat an earlier one" in qrels.flags[0].message
    with pytest.raises(InputError, match=r"item 1: query 'q', document 'd' is judged twice.*1 and 0") as caught:
        readers.read_qrels([ir_measures.Qrel("q", "d", 1), ir_measures.Qrel("q", "d", 0)])
    assert caught.value.line is None
    assert len(readers.read_run([ir_measures.ScoredDoc("q", "d", 1)] * 2).score) == 2
    # Ids that become one text are one query.
    with pytest.raises(InputError, match=r"judged twice"):
        readers.read_qrels({1: {"d": 1}, "1": {"d": 2}})


def test_queries_without_documents_are_left_out_and_said() -> None:
    run = readers.read_run({"a": {}, "b": {"d": 1.0}, "c": {}})
    assert run.queries == ("b",)
    assert "2 queries have no documents" in run.flags[0].message
    assert readers.read_qrels({"a": {"d": 1}, "b": {}}).queries == ("a",)


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"q": {"d": float("nan")}}, r"<dict>, query 'q': the score is not a number \(NaN or missing\)"),
        ({"q": {"d": float("inf")}}, r"the score is infinite"),
        ({"q": {"d": 2**2000}}, r"the score is infinite, or beyond the range of a double"),
        ({"q": {"d": "1.5"}}, r"the score '1.5' is not a number"),
        ({"q": {"d": None}}, r"NaN or missing"),
        ({"q": {"d": [1]}}, r"the score \[1\] is a list, not a number"),
        ({"q": {"d": {"e": 1}}}, r"nested one level too deep.*a list of runs"),
        ({"q": {"a\0b": 1}}, r"the document id 'a\\x00b' holds a NUL character"),
        ({"q": {"a b": 1}}, r"the document id 'a b' holds a blank.*underscore"),
        ({"q": {"a\n": 1}}, r"holds a blank"),
        ({"q\t": {"a": 1}}, r"the query id 'q\\t' holds a blank"),
        ({"q": {"a\udcff": 1}}, r"the document id 'a\\udcff' holds a lone surrogate.*surrogateescape"),
        ({"q": {"": 1}}, r"<dict>, query 'q': an empty document id"),
        ({"": {"d": 1}}, r"an empty query id"),
        ({1.0: {"d": 1}}, r"the query id 1.0 is a float.*dtype=str"),
        ({"q": {np.float64(2): 1}}, r"is a float"),
        ({"q": {b"d": 1}}, r"the document id b'd' is a bytes.*Decode it first"),
        ({"q": {("d",): 1}}, r"is a tuple"),
        ({True: {"d": 1}}, r"the query id True is a bool"),
        ({None: {"d": 1}}, r"a query id is missing \(None\)"),
        ({"q": ["d", "e"]}, r"\['d', 'e'\]} holds no documents with values"),
        ({"q": 1}, r"holds no documents with values"),
        ({}, r"<dict>: holds no rows"),
        ({"q": {}}, r"<dict>: holds no rows"),
        ([], r"<list>: holds no rows"),
        (iter(()), r"holds no rows"),
        (["q Q0 d 1 2.0 t"], r"item 0, 'q Q0 d 1 2.0 t', lacks query_id"),
        ([Pair(1, 2)], r"item 0, Pair\(a=1, b=2\), lacks.*attributes query_id, doc_id and score"),
        ([ir_measures.Qrel("q", "d", 1)], r"lacks .*score.*Are qrels and run swapped"),
        ([ir_measures.ScoredDoc("q", "d", float("nan"))], r"<list>, item 0: the score is not a number"),
        (b"q Q0 d 1 2.0 t\n", r"run cannot be read from a bytes.*a path, an open file"),
        (None, r"run cannot be read from a NoneType"),
        (7, r"run cannot be read from a int"),
        (np.zeros((2, 3)), r"run cannot be read from a ndarray"),
        (
            pd.DataFrame({"qid": ["q"], "docid": ["d"], "score": [1]}),
            r"lacks the columns.*qid, docid, score.*Legal: query_id, doc_id",
        ),
        (pd.DataFrame(), r"it has none"),
        (pd.DataFrame({"qid": [1.0], "docno": ["d"], "score": [1]}), r"row 0: the query id 1.0 is a float"),
        (pd.DataFrame({"qid": ["q", None], "docno": ["d", "e"], "score": [1, 2]}), r"row 1: a query id is missing"),
        (pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": ["high"]}), r"row 0: the score 'high' is not a number"),
        (pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": pd.array([None], dtype="Float64")}), r"NaN or missing"),
        (pd.DataFrame({"qid": [], "docno": [], "score": []}), r"holds no rows"),
        (
            pd.DataFrame([["q", "d", 1, 2]], columns=["qid", "docno", "score", "score"]),
            r"several columns named 'score'",
        ),
        (
            pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": [float("nan")]}, index=["a7"]),
            r"row 0 \(index 'a7'\): the score is not a number",
        ),
        (pd.DataFrame(RUN_ROWS, columns=["qid", "docno", "score"]).set_index("qid"), r"call reset_index\(\) on it"),
        (pd.DataFrame(RUN_ROWS, columns=["qid", "docno", "score"]).set_index(["qid", "docno"]), r"reset_index\(\)"),
        (pd.DataFrame(QRELS_ROWS, columns=["qid", "docno", "label"]), r"those of qrels: are qrels and run swapped\?"),
        (pl.DataFrame({"qid": ["q"], "docno": ["d"], "score": [float("nan")]}), r"row 0: the score is not a number"),
        (pl.DataFrame({"qid": [1.0], "docno": ["d"], "score": [1]}), r"is a float"),
        (pl.DataFrame({"qid": ["q", None], "docno": ["d", "e"], "score": [1, 2]}), r"row 1: a query id is missing"),
        (pl.DataFrame({"qid": ["q"], "docno": ["d e"], "score": [1]}), r"row 0: the document id 'd e' holds a blank"),
        (
            pl.DataFrame({"qid": ["q"], "docno": ["d"], "query_id": ["q"], "doc_id": ["d"], "score": [1]}),
            r"columns of several forms",
        ),
    ],
)
def test_faults_of_run_objects(source: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        readers.read_run(source)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"q": {"d": 1, "e": 0.5}}, r"<dict>, query 'q': the grade 0.5 is not a whole number.*never rounded"),
        ({"q": {"d": Fraction(1, 2)}}, r"is not a whole number"),
        ({"q": {"d": float("nan")}}, r"the grade is missing or NaN"),
        ({"q": {"d": None}}, r"the grade is missing or NaN"),
        ({"q": {"d": float("inf")}}, r"the grade inf is not a whole number"),
        ({"q": {"d": "1"}}, r"the grade '1' is not a whole number"),
        ({"q": {"d": 1001}}, r"the grade 1001 is too large: trec_eval would hang.*binning"),
        ({"q": {"d": 10**30}}, r"too large"),
        ({"q": {"d": 1e300}}, r"too large"),
        ({"q": {"d": np.uint64(2**64 - 1)}}, r"too large"),
        ({"q": {"d": -1001}}, r"the grade -1001 is too large"),
        (pd.DataFrame({"qid": ["q"], "docno": ["d"], "label": [1.5]}), r"row 0: the grade 1.5"),
        (pd.DataFrame({"qid": ["q"], "docno": ["d"], "label": pd.array([None], dtype="Int64")}), r"missing or NaN"),
        (pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": [1.5]}), r"lacks the columns.*label.*those of a run"),
        ([ir_measures.ScoredDoc("q", "d", 1.0)], r"lacks .*relevance.*swapped"),
        ([ir_measures.Qrel("q", "d", 1.5)], r"item 0: the grade 1.5"),
    ],
)
def test_faults_of_qrels_objects(source: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        readers.read_qrels(source)


def test_an_exhausted_generator_is_an_error() -> None:
    rows_once = (ir_measures.ScoredDoc(*row) for row in RUN_ROWS)
    readers.read_run(rows_once)
    with pytest.raises(InputError, match=r"<generator>: holds no rows.*only once"):
        readers.read_run(rows_once)


def test_the_two_of_our_own_types_are_not_mixed_up() -> None:
    run, qrels = readers.read_run({"q": {"d": 1.0}}), readers.read_qrels({"q": {"d": 1}})
    with pytest.raises(InputError, match=r"this Run holds a run, where qrels are expected"):
        readers.read_qrels(run)
    with pytest.raises(InputError, match=r"this Qrels holds qrels, where a run is expected"):
        readers.read_run(qrels)


def test_mixed_numbers_keep_their_values() -> None:
    run = readers.read_run({"q": {"a": 1, "b": np.float32(0.5), "c": True, "d": Decimal("0.25"), "e": Fraction(1, 8)}})
    assert run.score.tolist() == [1.0, 0.5, 1.0, 0.25, 0.125]
    qrels = readers.read_qrels({"q": {"a": True, "b": np.float64(2.0), "c": Fraction(3)}})
    assert qrels.grade.tolist() == [1, 2, 3]


def frames(rows: list[tuple[str, str, Any]], names: list[str]) -> Iterator[object]:
    """The same rows as frames of every kind that people hold them in."""
    query, doc, value = names
    plain = pd.DataFrame(rows, columns=names)
    yield plain.assign(rank=0, query="words with blanks", docid=7, text=None, name="me")
    yield plain.set_index(np.zeros(len(rows), dtype=int))
    yield plain.iloc[::-1].iloc[::-1].set_index(pd.Index(list(range(len(rows))), name=query))
    yield plain.astype(object)
    yield plain.astype({query: "category", doc: "category"})
    yield plain.astype({query: "string[pyarrow]", doc: "large_string[pyarrow]", value: "float64[pyarrow]"})
    yield plain.astype({query: "string[python]", doc: "string[python]", value: "Float64"})
    yield plain.astype({query: int})
    yield plain.astype({query: "Int64"})
    yield plain.astype({query: "int64[pyarrow]", value: "float32"})
    yield plain.astype({query: int}).astype({query: "category"})
    other = pl.DataFrame(rows, schema=names, orient="row")
    yield other.with_columns(pl.lit("x y").alias("query"), pl.lit(1).alias("rank"))
    yield other.with_columns(
        pl.col(query).cast(pl.Categorical), pl.col(doc).cast(pl.Enum(sorted({r[1] for r in rows})))
    )
    yield other.with_columns(pl.col(query).cast(pl.UInt16), pl.col(value).cast(pl.Decimal(10, 2))).lazy()
    yield other.with_columns(pl.col(value).cast(pl.Float32))


@pytest.mark.parametrize("names", [("query_id", "doc_id", "relevance"), ("qid", "docno", "label")])
def test_a_gate_over_frames_is_that_over_dicts(names: tuple[str, str, str]) -> None:
    gold = [(str(q), f"d{q}{i}", int(i < 2)) for q in range(1, 8) for i in range(4)]
    found = [(str(q), f"d{q}{i}", float(9 - i)) for q in range(1, 8) for i in range(1, 6)]
    sources = zip(frames(gold, list(names)), frames(found, [*names[:2], "score"]), strict=True)
    expected = gate(nested(gold), nested(found), pool=500, n_boot=100).entries[0].to_dict()
    for qrels, run in sources:
        was = [frame.copy() if isinstance(frame, pd.DataFrame) else None for frame in (qrels, run)]
        entry = gate(qrels, run, pool=500, n_boot=100).entries[0].to_dict()
        said = {flag["code"] for flag in entry.pop("flags")} - {"ids_written_as_text"}
        assert said == {flag["code"] for flag in expected["flags"]}
        assert entry | {"path": ""} == {k: v for k, v in expected.items() if k != "flags"} | {"path": ""}
        for frame, before in zip((qrels, run), was, strict=True):
            assert before is None or before.equals(frame)

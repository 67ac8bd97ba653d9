"""The reference files read as their README and SPEC say."""

from __future__ import annotations

from pathlib import Path

import pytest

from falsify_adapters import readers
from falsify_adapters.errors import InputError


def test_every_qrels_file_reads(shared: Path) -> None:
    paths = sorted((shared / "data" / "qrels").glob("qrels.*"))
    assert len(paths) > 30
    for path in paths:
        qrels = readers.read_qrels(path)
        assert qrels.flags == ()
        assert len(qrels.grade) == len(qrels.doc) == len(qrels.query)


def test_short_and_mangled_lines_of_trec_evals_own_test(shared: Path) -> None:
    run = readers.read_run(shared / "data" / "trec_eval" / "results.trunc")
    assert (len(run.queries), len(run.score)) == (2, 584)
    assert [f.code for f in run.flags] == ["fields_left_over"]
    assert run.flags[0].message.count("5 lines hold") == 1
    assert run.doc[0] == "FBIS3-27619"
    assert run.score[0] == 2.138276


def test_comments_of_trec_evals_own_test(shared: Path) -> None:
    folder = shared / "data" / "trec_eval"
    bare, commented = (readers.read_qrels(folder / name) for name in ("qrels.test", "qrels.test.with-comments"))
    assert commented.queries == bare.queries
    assert commented.grade.tolist() == bare.grade.tolist()
    differing = [(a, b) for a, b in zip(bare.doc, commented.doc, strict=True) if a != b]
    assert differing == [(b.replace("#", ""), b) for _, b in differing]
    assert commented.source.line_of is not None
    assert commented.source.line_of(0) == 2


def test_ids_with_hash_signs(shared: Path) -> None:
    qrels = readers.read_qrels(shared / "data" / "trec_eval" / "qrels.comment.test")
    assert qrels.doc[0] == "msmarco_v2.1_doc_00_880019750#4_1633802806"


def test_tabs_and_padded_scores(shared: Path) -> None:
    run = readers.read_run(shared / "data" / "trec_eval" / "results.test")
    assert (len(run.queries), len(run.score), run.score[0]) == (3, 1500, 2.129133)


def test_qrels_and_runs_are_told_apart(shared: Path) -> None:
    data = shared / "data"
    with pytest.raises(InputError, match="looks like a run"):
        readers.read_qrels(data / "dl19" / "runs" / "BM25.run.gz")
    with pytest.raises(InputError, match="looks like qrels"):
        readers.read_run(data / "qrels" / "qrels.msmarco-passage.dev-subset.txt")


def test_mtebs_saved_predictions_are_sent_to_the_audit(shared: Path) -> None:
    path = shared / "data" / "corpora" / "cacm" / "CacmRetrieval_predictions.json.gz"
    with pytest.raises(InputError, match="a list of runs"):
        readers.read_run(path)


def test_duplicates_inside_a_published_run_stay(shared: Path) -> None:
    run = readers.read_run(shared / "data" / "codec-doc" / "runs" / "bm25+rm3-tuned.run.gz")
    assert len(run.score) == 42000
    assert run.name == "bm25+rm3-tuned"

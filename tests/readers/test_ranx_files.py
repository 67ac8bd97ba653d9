"""ranx's JSON, Parquet and lz4, written here as ranx writes them; one test asks ranx itself."""

from __future__ import annotations

import gzip
import hashlib
import json
import pickle
import subprocess
import sys
from pathlib import Path

import cbor2
import lz4.frame
import polars as pl
import pytest

from falsify_adapters import readers
from falsify_adapters.errors import InputError, NotInstalledError

RUN = {"q2": {"d1": 3.5, "d2": 2.5}, "q1": {"d1": 9.0}}
QRELS = {"q2": {"d1": 1, "d2": 0}, "q1": {"d1": 2}}


def packed(content: object) -> bytes:
    return lz4.frame.compress(lz4.frame.compress(cbor2.dumps(content), compression_level=16))


def frame(table: dict[str, dict[str, float]]) -> pl.DataFrame:
    rows = [(q, d, v) for q, docs in table.items() for d, v in docs.items()]
    return pl.DataFrame(rows, schema=["q_id", "doc_id", "score"], orient="row")


def write(folder: Path, table: dict[str, dict[str, float]], kind: str) -> Path:
    path = folder / f"bm25.{kind}"
    if kind == "parquet":
        frame(table).write_parquet(path)
    elif kind == "lz4":
        path.write_bytes(packed(table))
    else:
        text = json.dumps(table, indent=2).encode()
        path.write_bytes(gzip.compress(text) if kind == "json.gz" else text)
    return path


@pytest.mark.parametrize("kind", ["json", "json.gz", "parquet", "lz4"])
def test_files_of_ranx_equal_the_dicts_they_hold(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, RUN, kind)
    run, want = readers.read_run(path), readers.read_run(RUN)
    assert run.queries == want.queries == ("q2", "q1")
    assert run.doc.to_list() == want.doc.to_list()
    assert run.score.tolist() == want.score.tolist()
    assert run.query.tolist() == want.query.tolist()
    assert run.rank is None
    assert run.name == "bm25"
    assert run.source.path == str(path)
    assert run.source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    qrels = readers.read_qrels(write(tmp_path, QRELS, kind))
    assert qrels.grade.tolist() == [1, 0, 2]


def test_formats_are_told_by_content_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    for kind in ("json", "parquet", "lz4"):
        path.write_bytes(write(tmp_path, RUN, kind).read_bytes())
        assert readers.read_run(path).score.tolist() == [3.5, 2.5, 9.0]
    path.write_bytes(b"\xef\xbb\xbf \n" + json.dumps(RUN).encode())
    assert readers.read_run(path).score.tolist() == [3.5, 2.5, 9.0]


def test_repeated_keys_of_json_are_rows_and_the_last_does_not_win(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"q": {"d": 2, "d": 1}, "q": {"e": 0}}')
    run = readers.read_run(path)
    assert (run.queries, run.doc.to_list(), run.score.tolist()) == (("q",), ["d", "d", "e"], [2, 1, 0])
    with pytest.raises(InputError, match="judged twice with different grades, 2 and 1"):
        readers.read_qrels(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"q": {"d": 1}', r"x: line 1|x, line 1: not legal JSON"),
        (b'{"q": {"d": 1}}\n{"q": {"d": 1}}', r"x, line 2: not legal JSON: Extra data.*JSON Lines"),
        (b'{"q": {"d": NaN}}', r"x, query 'q': the score is not a number"),
        (b'{"q": {"d": 1e999}}', r"infinite"),
        (b'{"q": {"d": "1"}}', r"the score '1' is not a number"),
        (b'{"q": [1]}', r"holds no documents with values"),
        (b'{"q": {"d": []}}', r"is a list"),
        (b"{}", r"holds no rows"),
        (b'{"q": {"\\ud800": 1}}', r"lone surrogate"),
        (b'{"q": {"a\xff": 1}}', r"not UTF-8"),
        (b'{"a":' * 100_000, r"nested too deeply"),
        (b"PAR1 and nothing else", r"not a legal Parquet file"),
        (packed(RUN)[:-10], r"lz4 that cannot be read: it ends in the middle"),
        (packed(RUN)[:7] + b"xxxx", r"not an lz4 file of ranx's|cannot be read"),
        (lz4.frame.compress(b"q Q0 d 1 2.0 t\n"), r"not an lz4 file of ranx's"),
        (packed([1, 2]), r"holds a list"),
        (lz4.frame.compress(lz4.frame.compress(pickle.dumps(RUN))), r"not an lz4 file of ranx's|holds a"),
    ],
)
def test_faults_of_ranx_files(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        readers.read_run(path)
    assert str(caught.value).startswith(str(path))


def test_an_open_list_is_not_json_of_ranx(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("[1, 2]")
    with pytest.raises(InputError, match="holds a list"):
        readers.read_run(path, format="ranx-json")


def test_parquet_with_the_wrong_columns_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(InputError, match=r"x.parquet: the frame lacks the columns"):
        readers.read_run(path)


@pytest.mark.parametrize("module", ["lz4.frame", "cbor2"])
def test_lz4_without_its_packages_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    path = write(tmp_path, RUN, "lz4")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NotInstalledError, match=r"ranx's lz4 files need the package .*pip install"):
        readers.read_run(path)


def test_ranx_itself_agrees(tmp_path: Path) -> None:
    code = f"""
import sys
from falsify_adapters import readers
from falsify_adapters.errors import InputError
import ranx
run, qrels = ranx.Run({RUN!r}, name="mine"), ranx.Qrels({QRELS!r})
def rows(t, values):
    return sorted(zip([t.queries[i] for i in t.query], t.doc.to_list(), values.tolist()))
want_run, want_qrels = readers.read_run({RUN!r}), readers.read_qrels({QRELS!r})
got = readers.read_run(run)
assert got.name == "mine" and got.source.path == "<ranx.Run>", got
assert rows(got, got.score) == rows(want_run, want_run.score)
got = readers.read_qrels(qrels)
assert rows(got, got.grade) == rows(want_qrels, want_qrels.grade)
for kind in ("json", "lz4", "trec"):
    run.save({str(tmp_path)!r} + "/r." + kind)
    got = readers.read_run({str(tmp_path)!r} + "/r." + kind)
    assert rows(got, got.score) == rows(want_run, want_run.score), kind
for kind in ("json", "trec"):
    qrels.save({str(tmp_path)!r} + "/q." + kind)
    got = readers.read_qrels({str(tmp_path)!r} + "/q." + kind)
    assert rows(got, got.grade) == rows(want_qrels, want_qrels.grade), kind
for read, wrong in ((readers.read_qrels, run), (readers.read_run, qrels)):
    try:
        read(wrong)
    except InputError as error:
        assert "are the two swapped?" in str(error)
    else:
        raise SystemExit("no error")
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_heavy_is_loaded_before_something_is_read() -> None:
    code = (
        "import sys, falsify_adapters.readers\n"
        "print(sorted({'polars', 'numpy', 'pandas', 'ranx', 'lz4', 'cbor2', 'ir_measures'} & set(sys.modules)))\n"
        "falsify_adapters.readers.read_run({'q': {'d': 1.0}})\n"
        "print(sorted({'pandas', 'ranx', 'lz4', 'cbor2', 'ir_measures'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]

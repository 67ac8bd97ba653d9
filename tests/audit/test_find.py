"""Trees, archives and single files: which items there are, and their bytes or why there are none."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

import falsify_adapters as fa
from falsify_adapters import cli
from falsify_adapters.audit.find import Tree, find, fitting
from falsify_adapters.audit.results import Named, named
from falsify_adapters.errors import InputError, MissingInputError, OptionError

RESULT = json.dumps({"task_name": "T", "scores": {"test": [{"hf_subset": "a", "main_score": 0.5, "ndcg_at_10": 0.5}]}})


def make(top: Path, *names: str) -> Path:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(RESULT)
    return top


def archive_of(path: Path, names: list[str], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(RESULT)
            archive.addfile(member, io.BytesIO(RESULT.encode()))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.LNKTYPE, target
            archive.addfile(member)
    return path


def test_items_are_json_files_but_those_of_models(tmp_path: Path) -> None:
    make(tmp_path, "o__m/r/B.json", "o__m/r/A.json", "o__m/r/model_meta.json", "o__m/r/notes.txt", "C.json")
    assert find(str(tmp_path)) == Tree(str(tmp_path), ("C.json", "o__m/r/A.json", "o__m/r/B.json"))
    assert find(str(tmp_path / "C.json")).items == ("C.json",)
    assert find(str(tmp_path / "C.json")).read("C.json") == RESULT.encode()


@pytest.mark.parametrize(
    ("item", "place"),
    [
        ("results/o__m/r/T.json", Named("o/m", "r", "T")),
        ("./x/results/o__m/r/T.v2.json", Named("o/m", "r", "T.v2")),
        ("m/T.json", Named("m", "", "T")),
        ("T.json", Named("", "", "T")),
    ],
)
def test_a_path_names_model_revision_and_task(item: str, place: Named) -> None:
    assert named(item) == place


def test_patterns(tmp_path: Path) -> None:
    tree = find(str(make(tmp_path, "a__x/r/S.json", "a__x/r/T.json", "b__x/r/T.json")))
    assert fitting(tree, (), ()) == tree
    assert fitting(tree, ("T",), ()).items == ("a__x/r/T.json", "b__x/r/T.json")
    assert fitting(tree, ("?", "none"), ("a/*",)).items == ("a__x/r/S.json", "a__x/r/T.json")
    with pytest.raises(OptionError, match=r"none of the 3 result files fits\. Legal: patterns such as .* or a/x"):
        fitting(tree, ("t",), ())


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    make(tmp_path, "m/r1/T.json")
    (tmp_path / "m" / "latest").symlink_to("r1")
    (tmp_path / "m" / "r1" / "up").symlink_to("..")
    (tmp_path / "m" / "r1" / "self.json").symlink_to("self.json")
    (tmp_path / "m" / "r1" / "gone.json").symlink_to("nowhere")
    tree = find(str(tmp_path))
    assert tree.items == tuple(f"m/{r}/{name}.json" for r in ("latest", "r1") for name in ("T", "gone", "self"))
    assert tree.read("m/latest/T.json") == RESULT.encode()
    assert tree.read("m/r1/gone.json") == "cannot be read: No such file or directory"
    assert str(tree.read("m/r1/self.json")).startswith("cannot be read: Too many levels")


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "T.json")
    assert find(str(tmp_path)).read("T.json") == "no file, but a pipe or a device"


def test_a_folder_that_cannot_be_listed_is_an_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "m/closed/T.json", "m/open/T.json")
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith(("closed", "open")):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    make(tmp_path, "m/T.json")
    tree = find(str(tmp_path))
    assert tree.items == ("m/T.json", "m/closed", "m/open")
    assert tree.read("m/closed") == "a folder that cannot be listed"
    with pytest.raises(InputError, match="cannot be listed"):
        find(str(tmp_path / "m" / "open"))


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="there is no file"):
        find(str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"holds no \.json file of results"):
        find(str(tmp_path))
    (tmp_path / "x.tar.gz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="cannot be read as an archive"):
        find(str(tmp_path / "x.tar.gz"))


def test_an_archive_keeps_its_order_and_gives_the_rows_of_the_tree(tmp_path: Path) -> None:
    names = ["o__m/r/T.json", "a__x/r/T.json", "a__x/r/model_meta.json", "b__x/r/S.json"]
    packed = archive_of(tmp_path / "x.tar.gz", [f"./{name}" for name in names], {"./c/r/T.json": "./a__x/r/T.json"})
    tree = find(str(packed))
    items = ("o__m/r/T.json", "a__x/r/T.json", "b__x/r/S.json", "c/r/T.json")
    assert tree.items == items
    assert list(tree.stream()) == [(item, RESULT.encode()) for item in items]
    unpacked = make(tmp_path / "tree", *names, "c/r/T.json")
    # With batches of one or two items, some of them done already.
    for batch in (1, 2):
        out = tmp_path / f"out{batch}"
        report = fa.audit_mteb(str(packed), output=str(out), batch=batch)
        assert report.rows() == fa.audit_mteb(str(unpacked)).rows()
        (out / "part-00001.parquet").unlink()
        assert fa.audit_mteb(str(packed), output=str(out), batch=batch, resume=True, jobs=2).rows() == report.rows()


def test_archives_that_contradict_themselves(tmp_path: Path) -> None:
    twice = archive_of(tmp_path / "x.tar.gz", ["m/T.json", "m/S.json", "m/T.json"])
    with pytest.raises(InputError, match=r"holds 'm/T\.json' twice.*Unpack it"):
        find(str(twice))
    broken = find(str(archive_of(tmp_path / "y.tar.gz", ["m/T.json"], {"m/S.json": "elsewhere.json"})))
    assert dict(broken.stream())["m/S.json"] == "cannot be read: a link to what is not in the archive"


def test_names_and_texts_that_are_no_unicode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "in", os.fsdecode(b"m\xff/r/T\xfe.json"))
    (tmp_path / "in" / "S.json").write_text(RESULT.replace('"a"', '"\\ud800"').replace('"T"', '"\\udfff"'))
    for name in ("parts", "x.jsonl", "x.csv", "x.json", "x.html"):
        out = tmp_path / name
        assert cli.run(["audit", "mteb", str(tmp_path / "in"), "--stats", str(stats(tmp_path)), "-o", str(out)]) == 0
    assert cli.run(["audit", "mteb", str(tmp_path / "in"), "--stats", str(stats(tmp_path))]) == 0
    assert "\\udcff" in capsys.readouterr().out
    rows = json.loads((tmp_path / "x.json").read_text())["results"]
    assert {row["path"] for row in rows} == {"S.json", "m\\udcff/r/T\\udcfe.json"}
    assert {row["subset"] for row in rows} == {"a", "\\ud800"}


def stats(folder: Path) -> Path:
    path = folder / "stats.jsonl"
    gold = {"average_relevant_docs_per_query": 1.0, "max_relevant_docs_per_query": 1}
    row = {"task": "T", "split": "test", "subset": "a", "num_documents": 9, "num_queries": 500}
    path.write_text(json.dumps({**row, "relevant_docs_statistics": gold}) + "\n")
    return path


def test_lines_of_rows_do_not_repeat_the_summaries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = make(tmp_path / "in", "m/r/T.json")
    assert cli.run(["audit", "mteb", str(tree), "--stats", str(stats(tmp_path)), "--format", "jsonl", "-o", "-"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    row = json.loads(line)
    assert (row["schema"], row["finding"], row["settings"]["tau"]) == (
        "falsify-adapters.audit/1",
        "indistinguishable",
        0.05,
    )
    assert not {"tasks", "models", "findings"} & set(row)

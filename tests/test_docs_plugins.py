"""The page on plugins, done as it says: its files in an empty folder, installed, and every command on it run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from falsify_adapters.offers import KINDS
from falsify_adapters.registry import DISABLE

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "plugins.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([^\n]*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for kind, block in BLOCKS if not kind for line in block.splitlines()]
N = 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page, built, and beside it files of the names that the commands use."""
    top = tmp_path_factory.mktemp("plugin")
    for name, text in ((re.findall(r'title="(.*)"', kind), text) for kind, text in BLOCKS if kind):
        (top / name[0]).parent.mkdir(exist_ok=True)
        (top / name[0]).write_text(text, encoding="utf-8")
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"]
    subprocess.run(built, cwd=top, check=True, capture_output=True)
    (wheel,) = (top / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(top / "site")
    gold = [(f"q{i}", f"d{i}") for i in range(N)] + [(f"q{i}", f"e{i}") for i in range(N)]
    hits = [(q, d, 9.5 if d[0] == "d" else 8.5) for q, d in gold]
    (top / "QRELS").write_text("".join(f"{q} 0 {d} 1\n" for q, d in gold))
    (top / "RUN").write_text("".join(f"{q} Q0 {d}_1 {10 - int(s)} {s} made\n" for q, d, s in hits))
    (top / "QRELS.csv").write_text("query,doc,grade\n" + "".join(f"{q},{d},1\n" for q, d in gold))
    (top / "RUN.csv").write_text("query,doc,score\n" + "".join(f"{q},{d},{s}\n" for q, d, s in hits))
    (top / "IDS").write_text("".join(f"{kind}{i}\n" for kind in "dexyz" for i in range(N)))
    return top


def done(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    variables = {k: v for k, v in os.environ.items() if k != DISABLE} | {"PYTHONPATH": str(folder / "site")}
    return subprocess.run(
        [sys.executable, "-W", "error", *args], cwd=folder, env=variables, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("falsify-adapters")])
def test_every_command_does_what_it_says(folder: Path, command: str) -> None:
    words = shlex.split(command)[1:]
    if "RUN" in words and not any(word.startswith("before:") for word in words):
        text = (folder / "RUN").read_text()
        (folder / "RUN-documents").write_text(text.replace("_1 ", " "))
        words[words.index("RUN")] = "RUN-documents"
    said = done(folder, "-m", "falsify_adapters", *words)
    assert said.returncode == 0, said.stderr
    if words[0] == "gate":
        assert "PASS" in said.stdout.splitlines()[0], said.stdout
    if words[0] == "plugins":
        assert "my-adapter 0.1" in said.stdout
        assert all(name in said.stdout for name in ("mine", "Twice", "neighbour", "lines", "before", "brief", "csv"))
    if words[0] == "verdicts":
        assert said.stdout == "PASS\n"


def test_other_commands_are_the_installer_and_pytest(folder: Path) -> None:
    rest = [c for c in COMMANDS if c and not c.startswith("falsify-adapters")]
    assert rest == ["pip install -e .", "pip install pytest", "pytest"]
    said = done(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_adapter.py")
    assert said.returncode == 0, said.stdout


def test_every_hook_has_a_heading_and_a_function() -> None:
    headings = re.findall(r"^## `(\w+)`$", PAGE, re.MULTILINE)
    assert sorted(headings) == sorted(KINDS)
    assert sorted(re.findall(r"^@hookimpl\ndef (\w+)\(\):$", PAGE, re.MULTILINE)) == sorted(KINDS)

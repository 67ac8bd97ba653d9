"""README and documentation against the program: outputs that are shown, flags, options and links that exist."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from falsify_adapters import cli

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_shows_what_the_demo_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo"]) == 0
    assert f"```\n{capsys.readouterr().out}```\n" in README


def shown(page: Path) -> list[tuple[str, str, str]]:
    """Page, command and output of every block that starts with a command."""
    found = re.findall(
        r"```\n\$ falsify-adapters ((?:[^\n]*\\\n)*[^\n]*)\n(.*?)```\n", page.read_text(encoding="utf-8"), re.DOTALL
    )
    return [(page.name, command, output) for command, output in found]


def made_qrels() -> str:
    """28 questions over 218 files: 21 with one gold file, seven with 2 or 3."""
    rows = [i for i, gold in enumerate([1] * 21 + [2] * 3 + [3] * 4, 1) for _ in range(gold)]
    return "".join(f"q{query} 0 file{n} 1\n" for n, query in enumerate(rows, 1))


@pytest.mark.parametrize(
    ("page", "command", "output"),
    [block for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) for block in shown(page)],
)
def test_what_is_shown_is_what_is_printed(
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    page: str,
    command: str,
    output: str,
) -> None:
    folder = "corpora/cacm" if page == "chunks.md" else "trec-covid-r5" if command.startswith("gate") else None
    if folder is None:
        (tmp_path / "qrels.txt").write_text(made_qrels(), encoding="utf-8")
    else:
        data = request.getfixturevalue("shared") / "data" / folder
        for path in (*data.iterdir(), *(data / "runs").iterdir()):
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    status = cli.run(shlex.split(command.replace("\\\n", " ")))
    printed = capsys.readouterr().out
    assert printed == output
    assert status == ("FAIL" in printed.splitlines()[0])


def test_there_are_blocks_to_look_at() -> None:
    pages = (ROOT / "README.md", ROOT / "docs" / "floors.md", ROOT / "docs" / "chunks.md")
    assert [len(shown(page)) for page in pages] == [2, 3, 2]


def flag_codes() -> set[str]:
    codes = set()
    for path in (ROOT / "falsify_adapters").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Flag":
                first = node.args[0]
                assert isinstance(first, ast.Constant), f"{path.name}, line {node.lineno}: a code is written out"
                codes.add(first.value)
    return codes


def test_every_flag_is_explained_and_no_other() -> None:
    text = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8").split("## Errors")[0]
    assert set(re.findall(r"^\| `([a-z_0-9]+)` \|", text, re.MULTILINE)) == flag_codes()


def test_every_option_that_is_named_exists() -> None:
    known = set(re.findall(r"--[a-z][a-z-]+", (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")))
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"(?<=`)(?:falsify-adapters [^`\n]*?)?(--[a-z][a-z-]+)", text))
        assert named <= known, path.name


def test_the_page_of_the_command_line_is_that_of_the_program() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "commands_page.py")], check=True, capture_output=True, encoding="utf-8"
    )
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == made.stdout, "stale: run `make commands`"


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_every_link_to_a_file_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target

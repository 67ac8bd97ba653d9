"""README and documentation against the program: outputs that are shown, flags, options and links that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from falsify_adapters import cli

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_shows_what_the_demo_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo"]) == 0
    assert f"```\n{capsys.readouterr().out}```\n" in README


def test_the_readme_shows_what_the_gate_prints(
    shared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown = re.search(r"```\n\$ falsify-adapters (gate [^\n]*)\n(.*?)```\n", README, re.DOTALL)
    assert shown is not None
    folder = shared / "data" / "trec-covid-r5"
    for path in (folder / "qrels.covid-round5.txt", folder / "runs" / "UPrrf102-wt-r5.run.gz"):
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    assert cli.run(shown[1].split()) == 0
    assert capsys.readouterr().out == shown[2]


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


def test_every_option_that_is_named_exists(capsys: pytest.CaptureFixture[str]) -> None:
    known = {"--version"}
    for command in ("gate", "floor", "noise"):
        assert cli.run([command, "--help"]) == 0
        known |= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"(?<=`)(?:falsify-adapters [^`\n]*?)?(--[a-z][a-z-]+)", text))
        assert named <= known, path.name


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_every_link_to_a_file_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target

"""The pytest plugin, in a pytest of its own, as a project that uses it would have it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TESTS = """
QRELS = {f"q{i}": {f"d{i}": 1} for i in range(30)}
GOOD = {f"q{i}": {f"d{i}": 2.0, f"d{(i + 1) % 30}": 1.0} for i in range(30)}
CHEAT = {f"q{i}": {"d1": 2.0, "d2": 1.0} for i in range(30)}


def test_good(falsify_gate):
    assert falsify_gate(QRELS, GOOD, ["nDCG@10", "RR@10"], pool=1000).verdict == "PASS"


def test_cheat(falsify_gate):
    falsify_gate(QRELS, CHEAT, "RR@10", pool=1000)


def test_few(falsify_gate):
    few = {q: QRELS[q] for q in ["q1", "q2", "q3"]}
    falsify_gate(few, GOOD, "RR@10", pool=1000)


def test_few_allowed(falsify_gate):
    few = {q: QRELS[q] for q in ["q1", "q2", "q3"]}
    assert falsify_gate(few, GOOD, "RR@10", pool=1000, allow="UNDER-NS").verdict == "UNDER-NS"


def test_typo(falsify_gate):
    falsify_gate(QRELS, GOOD, "RR@10", pool=1000, allow="under-ns")


def test_room(falsify_floor):
    falsify_floor(QRELS, "RR@10", pool=1000, score=0.5)


def test_no_room(falsify_floor):
    falsify_floor({f"q{i}": {f"d{j}": 1 for j in range(5)} for i in range(9)}, "RR@10", pool=8, score=1.0)


def test_no_check(falsify_floor):
    falsify_floor(QRELS, "RR@10", pool=1000)
"""


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """pytest with the plugin named as the entry point names it, whether or not this checkout is installed."""
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]
    module = named["falsify-adapters"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", module, *args]
    variables = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120)


def test_a_test_fails_with_the_reports_explanation(tmp_path: Path) -> None:
    (tmp_path / "test_made.py").write_text(TESTS)
    said = run(tmp_path, "-q")
    assert "5 failed, 3 passed" in said.stdout, said.stdout + said.stderr
    for name in ("test_cheat", "test_few", "test_typo", "test_no_room", "test_no_check"):
        assert f"FAILED test_made.py::{name}" in said.stdout
    assert "the gate says FAIL" in said.stdout
    assert "Every query gets the same list" in said.stdout
    assert "'under-ns' is no verdict that could be allowed. Legal: UNDER-NS, FAIL" in said.stdout
    assert "the gate says UNDER-NS" in said.stdout
    assert "the noise floor says FAIL" in said.stdout
    assert "the noise floor says NO CHECK" in said.stdout
    assert "pytest_plugin.py" not in said.stdout, "the traceback is not ours to show"


def test_the_plugin_loads_nothing_before_it_is_asked(tmp_path: Path) -> None:
    (tmp_path / "test_made.py").write_text(
        "import json, sys\n\ndef test_it(capsys):\n    heavy = ('numpy', 'polars', 'scipy', 'ir_measures', 'rich')\n"
        "    with capsys.disabled():\n        print(json.dumps([m for m in heavy if m in sys.modules]))\n"
    )
    said = run(tmp_path, "-q", "-s")
    lists = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("[")]
    assert lists == [[]], said.stdout

"""The example plugin, built as a wheel and installed beside the package, as a stranger would have it.

Needs hatchling (dependency group `tests`), and no network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest

from falsify_adapters.registry import DISABLE

PLUGIN = Path(__file__).parents[1] / "examples" / "q_measure_plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed plugin: what a pure-Python wheel contains is what an installer unpacks."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=PLUGIN, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    assert wheel.name == "falsify_q_measure-0.1.0-py3-none-any.whl"
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def run(site: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    variables = {k: v for k, v in os.environ.items() if k != DISABLE}
    variables |= {"PYTHONPATH": str(site), **env}
    return subprocess.run([sys.executable, *args], env=variables, capture_output=True, text=True, timeout=60)


def ask(site: Path, code: str, **env: str) -> Any:
    """What the code prints, read as JSON."""
    done = run(site, "-W", "error", "-c", textwrap.dedent(code), **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_is_found_and_nothing_of_it_is_imported(site: Path) -> None:
    overview, imported = ask(
        site,
        """
        import json, sys
        from falsify_adapters.registry import Registry
        registry = Registry()
        found = [m for m in sys.modules if m.startswith("falsify_q_measure")]
        overview = registry.overview()
        loaded = [m for m in sys.modules if m.startswith("falsify_q_measure")]
        print(json.dumps([overview, [found, loaded]]))
        """,
    )
    assert imported == [[], ["falsify_q_measure"]]
    (plugin,) = [p for p in overview["plugins"] if p["package"] == "falsify-q-measure"]
    assert plugin == {
        "package": "falsify-q-measure",
        "version": "0.1.0",
        "name": "q-measure",
        "entry_point": "falsify_q_measure",
        "status": "loaded",
        "offers": {"measures": [{"name": "Q", "summary": "Q-measure: average precision that counts gains as well"}]},
        "failures": [],
    }
    assert overview["conflicts"] == []


def test_it_is_computed_and_has_its_floor(site: Path) -> None:
    values, name, tolerance, floor = ask(
        site,
        """
        import json, pickle
        from falsify_adapters.adapters.spec_backend import SpecBackend
        from falsify_adapters.measures import Measure
        from falsify_adapters.registry import Registry
        registry = Registry()
        spec, plugin = registry.measures()["Q"]
        backend = SpecBackend(spec, f"{plugin.package} {plugin.version}")
        measure = Measure("Q", 3)
        assert backend.why_not(measure) is None
        qrels = {"0": {"0": 3, "1": 2, "2": 1, "3": 0}, "1": {"4": 1}}
        run = {"0": {"2": 4.0, "9": 3.0, "0": 2.0, "1": 1.0}, "1": {}}
        backend = pickle.loads(pickle.dumps(backend))
        values = backend.score(measure, qrels, run)
        print(json.dumps([values, backend.name, backend.tolerance(measure), spec.floor(measure, 9, 3, [1], [1])]))
        """,
    )
    # Rank 1 holds the grade 1, rank 3 the grade 3, ideal gains 3, 5, 6: (2/4 + 6/9)/3.
    assert values == [pytest.approx((2 / 4 + 6 / 9) / 3, abs=1e-15), 0.0]
    # One gold document of gain 1, at each of the ranks 1 to 3 with probability 1/9.
    assert floor == pytest.approx((2 / 2 + 2 / 3 + 2 / 4) / 9, abs=1e-15)
    assert (name, tolerance) == ("measure of falsify-q-measure 0.1.0", 1e-9)


def test_the_command_line_shows_it(site: Path) -> None:
    done = run(site, "-m", "falsify_adapters", "plugins")
    assert done.returncode == 0, done.stderr
    assert "falsify-q-measure 0.1.0 (plugin q-measure, falsify_q_measure)\n  measures: Q\n" in done.stdout
    done = run(site, "-m", "falsify_adapters", "measures", "Q(beta=2)@10")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Q(beta=2)@10: Q-measure\n")
    assert "Sakai 2004" in done.stdout


def test_without_outside_plugins_it_is_found_and_left_alone(site: Path) -> None:
    status, names, imported = ask(
        site,
        """
        import json, sys
        from falsify_adapters.registry import Registry
        registry = Registry()
        (plugin,) = [p for p in registry.overview()["plugins"] if p["package"] == "falsify-q-measure"]
        print(json.dumps([plugin["status"], registry.names("measures"), "falsify_q_measure" in sys.modules]))
        """,
        **{DISABLE: "1"},
    )
    assert status == "disabled"
    assert "Q" not in names
    assert not imported


def test_its_own_tests_pass(site: Path) -> None:
    done = run(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PLUGIN / "tests"), "--rootdir", str(PLUGIN))
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout

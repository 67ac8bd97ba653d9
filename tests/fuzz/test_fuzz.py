"""The short form of the fuzzer: the same few hundred mutants every time."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def mutate() -> ModuleType:
    path = Path(__file__).with_name("mutate.py")
    spec = importlib.util.spec_from_file_location("fuzz_mutate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_mutant_is_a_result_or_a_named_error(mutate: ModuleType) -> None:
    faults: list[str] = []
    counts = mutate.fuzz(60, 0, faults.append)
    assert faults == []
    assert counts["result"] > 30  # mutants that all fail at the door would test the door only
    assert counts["InputError"] > 30


def test_seeds_are_good_before_they_are_mutated(mutate: ModuleType, tmp_path: Path) -> None:
    for seed in mutate.seeds():
        for name, data in seed.files.items():
            path = tmp_path / seed.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        assert seed.use(tmp_path / seed.name)


def test_mutations_change_something(mutate: ModuleType) -> None:
    rng = np.random.default_rng(0)
    data = b"q1 0 d1 1\nq2 0 d2 1\n"
    for mutation in mutate.MUTATIONS:
        assert any(mutation(data, rng) != data for _ in range(20)), mutation.__name__


def test_a_fault_is_shown_with_its_number(mutate: ModuleType, tmp_path: Path) -> None:
    def fall(folder: Path) -> None:
        raise ZeroDivisionError(folder.name)

    found = mutate.outcome(mutate.Seed("made", {"a": b"text"}, fall), 3, tmp_path)
    assert found.kind == "fault"
    assert "ZeroDivisionError" in found.fault

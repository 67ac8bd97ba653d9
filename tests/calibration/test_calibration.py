"""The short form of the calibration study: few worlds, seeded, bounds so wide that only a fault turns them red."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def study() -> ModuleType:
    path = Path(__file__).with_name("study.py")
    spec = importlib.util.spec_from_file_location("calibration_study", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("queries", "gold", "pool", "measure"), [(10, 1, 10, "RR@10"), (28, 5, 8, "nDCG@10"), (20, 1, 2, "P@5")]
)
def test_random_retrievers_hardly_pass(study: ModuleType, queries: int, gold: int, pool: int, measure: str) -> None:
    rates = study.study(study.World(queries, gold, pool, measure, None), 60, 7)
    assert rates.passed <= 3 / 60  # at a true rate of 1 % more than three has a chance of 0.3 %
    assert rates.covered >= 0.85


def test_popularity_cheats_never_pass(study: ModuleType) -> None:
    assert study.study(study.World(28, 1, 200, "nDCG@10", "popular", skew=True), 40, 7).passed == 0.0


def test_a_system_that_is_right_often_passes(study: ModuleType) -> None:
    rates = study.study(study.World(50, 3, 1000, "nDCG@10", 0.6), 30, 7)
    assert rates.passed == 1.0
    assert rates.covered >= 0.8


def test_the_worlds_are_many_and_named_apart(study: ModuleType) -> None:
    every = list(study.worlds())
    assert len({world.name for world in every}) == len(every) > 180

"""Fixtures for every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run of CI: a red one is then a fault of the change and not of the dice. By hand the dice
# roll. No deadline: machines that run tests are busy.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("hand", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "hand")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data: FALSIFY_SHARED, or `../shared` beside the repository."""
    given = os.environ.get("FALSIFY_SHARED")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"reference data not found at {folder}; set FALSIFY_SHARED to their folder")
    return folder

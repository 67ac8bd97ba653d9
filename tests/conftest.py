"""Fixtures for every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data: FALSIFY_SHARED, or `../shared` beside the repository."""
    given = os.environ.get("FALSIFY_SHARED")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"reference data not found at {folder}; set FALSIFY_SHARED to their folder")
    return folder

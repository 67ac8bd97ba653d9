"""The report as plain JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_json(report: Mapping[str, Any]) -> str:
    """The report as JSON, numbers unrounded, in ASCII: odd characters of ids and paths come as escapes."""
    return json.dumps(report, indent=2, allow_nan=False) + "\n"

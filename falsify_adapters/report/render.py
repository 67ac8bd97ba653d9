"""Text for any report, told by its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GATE = "falsify-adapters.gate/"
FLOOR = "falsify-adapters.floor/"
POWER = "falsify-adapters.power/"
COMPARE = "falsify-adapters.compare/"
AUDIT = "falsify-adapters.audit/"


def render(report: Mapping[str, Any], *, width: int, color: bool, ascii_only: bool, details: str = "auto") -> str:
    """The report as text, ending in a newline. details: how much of each row of a gate is shown, see `render_gate`."""
    if report["schema"].startswith(FLOOR):
        from falsify_adapters.report.floor_text import render_floor

        return render_floor(report, width=width, color=color, ascii_only=ascii_only)
    if report["schema"].startswith(COMPARE):
        from falsify_adapters.report.compare_text import render_compare

        return render_compare(report, width=width, color=color, ascii_only=ascii_only)
    if report["schema"].startswith(AUDIT):
        from falsify_adapters.report.audit_text import render_audit

        return render_audit(report, width=width, color=color, ascii_only=ascii_only)
    if report["schema"].startswith(POWER):
        from falsify_adapters.report.power_text import render_power

        return render_power(report, width=width, color=color, ascii_only=ascii_only)
    from falsify_adapters.report.text import render_gate

    return render_gate(report, width=width, color=color, ascii_only=ascii_only, details=details)

"""A pytest plugin: `falsify_gate` and `falsify_floor` fail a test with the report's own explanation.

Nothing of the package is imported before a test asks for one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from falsify_adapters.report.data import GateReport
    from falsify_adapters.report.floor_data import FloorReport


@pytest.fixture(scope="session")
def falsify_gate() -> Callable[..., GateReport]:
    """The function `gate(qrels, runs, measures, ..., allow=())`: runs the gate and fails the test unless every verdict
    is PASS or one of `allow`; returns the report. Other arguments as for `falsify_adapters.gate`."""

    def check(qrels: Any, runs: Any, measures: Any = "nDCG@10", *, allow: Any = (), **options: Any) -> GateReport:
        __tracebackhide__ = True
        from falsify_adapters import gate

        _check_allowed(allow)
        report = gate(qrels, runs, measures, **options)
        fine = {"PASS", *((allow,) if isinstance(allow, str) else allow)}
        bad = [entry for entry in report if entry.verdict not in fine]
        if bad:
            pytest.fail(f"the gate says {report.verdict}\n\n{report}", pytrace=False)
        return report

    return check


def _check_allowed(allow: Any) -> None:
    """Fail the test for a word that is no verdict: it would allow nothing, and nobody would notice."""
    for word in (allow,) if isinstance(allow, str) else allow:
        if word not in ("UNDER-NS", "FAIL"):
            pytest.fail(f"allow: {word!r} is no verdict that could be allowed. Legal: UNDER-NS, FAIL.", pytrace=False)


@pytest.fixture(scope="session")
def falsify_floor() -> Callable[..., FloorReport]:
    """The function `floor(qrels, measures, ...)`: fails the test where a check of the noise floor says above, below,
    fail or differs, and where no check was asked for; returns the report. Arguments as for `falsify_adapters.floor`."""

    def check(qrels: Any, measures: Any = None, **options: Any) -> FloorReport:
        __tracebackhide__ = True
        from falsify_adapters import floor

        report = floor(qrels, measures, **options)
        if report.verdict != "PASS":
            pytest.fail(f"the noise floor says {report.verdict}\n\n{report}", pytrace=False)
        return report

    return check

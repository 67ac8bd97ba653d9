"""Is this retrieval score real? The four-null gate and the noise floor, on the tools people already use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from falsify_adapters.audit.api import audit_mteb as audit_mteb
    from falsify_adapters.audit.gated import audit_beir as audit_beir
    from falsify_adapters.audit.gated import audit_predictions as audit_predictions
    from falsify_adapters.check import gate as gate
    from falsify_adapters.check_compare import compare as compare
    from falsify_adapters.check_floor import floor as floor
    from falsify_adapters.check_power import power as power
    from falsify_adapters.noise_runs import write_noise as write_noise
    from falsify_adapters.report.data import GateReport as GateReport
    from falsify_adapters.report.floor_data import FloorReport as FloorReport

__version__ = "0.1.0"
__all__ = [
    "FloorReport",
    "GateReport",
    "__version__",
    "audit_beir",
    "audit_mteb",
    "audit_predictions",
    "compare",
    "floor",
    "gate",
    "power",
    "write_noise",
]

# Public names and the modules they live in, loaded at first use: a bare import stays as cheap as numpy's.
_WHERE = {
    "audit_mteb": "falsify_adapters.audit.api",
    "audit_beir": "falsify_adapters.audit.gated",
    "audit_predictions": "falsify_adapters.audit.gated",
    "gate": "falsify_adapters.check",
    "compare": "falsify_adapters.check_compare",
    "floor": "falsify_adapters.check_floor",
    "power": "falsify_adapters.check_power",
    "write_noise": "falsify_adapters.noise_runs",
    "GateReport": "falsify_adapters.report.data",
    "FloorReport": "falsify_adapters.report.floor_data",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

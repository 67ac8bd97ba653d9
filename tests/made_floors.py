"""Reports on noise floors as they would be made, for tests of what shows them."""

from __future__ import annotations

from typing import Any

OBSERVED = {"code": "pool_observed", "message": "N is what qrels and runs hold, so the floor can only be too high."}


def row(measure: str = "RR@10", expected: float = 0.018555, n: int | None = 218, **other: Any) -> dict[str, Any]:
    """One result, without checks."""
    return {
        "measure": measure,
        "pool": {"n": n, "n_min": n, "n_max": n, "source": "given", "n_chunks": None},
        "depth": None,
        "expected": expected,
        "expected_se": 0.0,
        "sd": 0.0178,
        "method": "exact",
        "uniform": None,
        "ceiling": 1.0,
        "headroom": 1.0 - expected,
        "gold": {"total": 40, "in_pool": 40, "queries_without": 0},
        "check1": None,
        "check2": None,
        "noise_overlap": None,
        "harness": None,
        "per_query": {"min": expected * 0.7241, "max": expected * 2.1},
        "flags": [],
        **other,
    }


def check1(**other: Any) -> dict[str, Any]:
    """Passes: files fit, chunks do not."""
    return {
        "measured": 0.02246,
        "seeds": 20,
        "ratio": 1.2105,
        "ci": [0.7312, 1.9021],
        "p": 0.2913,
        "detectable_ratio": 1.8504,
        "verdict": "pass",
        "implied_n": 180.2,
        "implied_n_ci": [111, 305],
        "candidates": [{"unit": "chunks", "n": 1052, "fits": False}, {"unit": "files", "n": 218, "fits": True}],
        "per_run": None,
        "rounding": 0.0,
        **other,
    }


def check2(**other: Any) -> dict[str, Any]:
    return {
        "score": 0.358,
        "signal": 15.94,
        "signal_over_floor": 19.294,
        "headroom": 0.981445,
        "chance_corrected": 0.34586,
        "verdict": "pass",
        "assumed": False,
        "floor": 0.018555,
        "noise": 0.02246,
        **other,
    }


def overlap(**other: Any) -> dict[str, Any]:
    return {
        "observed": 0.0512,
        "expected": 0.0459,
        "p": 0.31,
        "verdict": "pass",
        "pairs": 3,
        "between": ["noise-seed0.run", "noise-seed2.run"],
        **other,
    }


def good(**other: Any) -> dict[str, Any]:
    return row(**{"check1": check1(), "check2": check2(), **other})


def units_bug(**other: Any) -> dict[str, Any]:
    """N counted in chunks, files scored."""
    found = check1(ratio=5.802, ci=[3.5, 9.1], p=2e-12, verdict="above", detectable_ratio=2.61)
    return row(expected=0.003871, n=1052, sd=0.0081, **{"check1": found, **other})


def small_pool(**other: Any) -> dict[str, Any]:
    """8 candidates, 5 of them gold."""
    found = check2(
        score=1.0,
        signal=1.261,
        signal_over_floor=1.261,
        headroom=0.20685,
        assumed=True,
        verdict="fail",
        floor=0.79315,
        noise=0.79,
    )
    quiet = check1(measured=0.79, ratio=0.9963, ci=None, p=0.91, detectable_ratio=None, implied_n=None)
    pool = {"n": None, "n_min": 8, "n_max": 12, "source": "candidates", "n_chunks": None}
    given = {**quiet, "implied_n_ci": None, "candidates": []}
    return row(expected=0.79315, n=8, sd=0.05, **{"pool": pool, "check1": given, "check2": found, **other})


def report(*results: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": "falsify-adapters.floor/1",
        "version": "0.1.0",
        "settings": {"check_alpha": 0.01, "min_signal": 2.0, "min_headroom": 0.5, "seed": 0},
        "qrels": {"path": "qrels.txt", "sha256": "1" * 64, "queries": 28, "judgments": 40, "gold": 40},
        "files": [{"role": "noise", "path": "noise-seed0.run", "sha256": "2" * 64}],
        "results": list(results),
    }

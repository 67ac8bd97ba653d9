"""Reports by hand, of the shape that the gate's JSON has, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CEILING = 1.0


def null(score: float, mean: float, half: float, verdict: str, **other: Any) -> dict[str, Any]:
    delta = score - mean
    return {
        "mean": mean,
        "se": None,
        "method": "exact",
        "delta": delta,
        "ci95": [delta - half, delta + half],
        "ci": [delta - 1.5 * half, delta + 1.5 * half],
        "p": 1 / 1001,
        "reach": None,
        "verdict": verdict,
        **other,
    }


def row(
    run: str,
    measure: str,
    score: float,
    means: Sequence[float],
    verdicts: Sequence[str],
    half: float = 0.03,
    **other: Any,
) -> dict[str, Any]:
    """One result; `means` and `verdicts` are those of the nulls A to D."""
    verdict = "FAIL" if "fail" in verdicts else "UNDER-NS" if "under-ns" in verdicts else "PASS"
    return {
        "run": run,
        "tag": None,
        "path": f"runs/{run}.run.gz",
        "sha256": "0" * 64,
        "measure": measure,
        "score": score,
        "geometric_mean": score,
        "backend": "ir_measures",
        "score_source": "backend",
        "verified_queries": 50,
        "queries": {"judged": 50, "missing": 0, "ignored": 0, "without_gold": 0},
        "documents": {"retrieved": 50000, "relevant": 10910, "relevant_retrieved": 6012},
        "pool": {"n": 191175, "source": "given"},
        "floor": means[2],
        "floor_se": None,
        "ceiling": CEILING,
        "chance_corrected": (score - means[2]) / (CEILING - means[2]),
        "tie_span": [score, score],
        "tied_queries": 0,
        "judged_at_k": 0.99,
        "nulls": {
            name: null(score, mean, half, verdict) for name, mean, verdict in zip("ABCD", means, verdicts, strict=True)
        },
        "popularity": {"score": 0.12, "delta": score - 0.12},
        "paired": None,
        "verdict": verdict,
        "queries_needed": None,
        "flags": [],
        **other,
    }


def report(*results: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": "falsify-adapters.gate/1",
        "version": "0.1.0",
        "settings": {
            "backend": "ir_measures",
            "tau": 0.05,
            "alpha": 0.05,
            "n_boot": 1000,
            "seed": 0,
            "null_d": "documents",
            "ties": "trec",
            "queries": "judged",
            "unit": None,
            "rel": 1,
            "official": False,
        },
        "qrels": {"path": "qrels.txt", "sha256": "1" * 64, "queries": 50, "judgments": 23151, "gold": 10910},
        "results": list(results),
    }


OBSERVED = {"code": "pool_observed", "message": "N is what qrels and runs hold, so the floor can only be too high."}
PASS, FAIL, OPEN = ["pass"] * 4, ["fail"] * 4, ["under-ns"] * 4


def good(**other: Any) -> dict[str, Any]:
    made = row("good", "nDCG@10", 0.9119, [0.0273, 0.0273, 0.0104, 0.0301], PASS, flags=[OBSERVED])
    return {**made, **other}


def cheat(**other: Any) -> dict[str, Any]:
    """The popularity cheat: far above random retrieval, no better than other queries' gold."""
    made = row("cheat", "nDCG@10", 0.51, [0.51, 0.49, 0.02, 0.50], ["fail", "fail", "pass", "fail"])
    return {**made, **other}


def small(**other: Any) -> dict[str, Any]:
    """Too few queries to tell."""
    return {**row("small", "nDCG@10", 0.08, [0.02] * 4, OPEN, half=0.06), "queries_needed": 131, **other}

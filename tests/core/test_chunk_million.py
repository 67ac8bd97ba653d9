"""Chunk-aware floors against a million rankings of random chunks, drawn by the keys that the formula starts from."""

from __future__ import annotations

import numpy as np

from falsify_adapters.core.chunk_floors import ChunkCounts, expectation
from falsify_adapters.core.gate import kernel_grade
from falsify_adapters.core.kernels import Hits
from falsify_adapters.measures import parse
from falsify_adapters.model import Judgments

CHUNKS = np.array([1, 1, 1, 2, 2, 3, 5, 8, 1, 4, 1, 2])  # of twelve documents
JUDGED = {"a": {0: 1, 3: 2, 6: 0, 7: 3}, "b": {1: 1, 2: 1, 5: 4, 7: 0, 9: 2}}
MEASURES = (
    "P@3", "R@4", "Success@2", "RR@5", "RR", "AP@4", "AP", "AP(rel=2)", "nDCG@5", "nDCG", "nDCG(dcg='exp-log2')@5",
    "Rprec", "RBP(p=0.8)", "ERR@5",
)  # fmt: skip
RANKINGS, BLOCK = 1_000_000, 50_000


def test_every_family_equals_a_million_random_rankings() -> None:
    doc = np.array([d for judged in JUDGED.values() for d in judged], np.int32)
    grade = np.array([g for judged in JUDGED.values() for g in judged.values()], np.int32)
    start = np.array([0, 4, 9], np.int64)
    judgments = Judgments(tuple(JUDGED), len(CHUNKS), start, doc, grade)
    measures = [parse(m) for m in MEASURES]
    sums = np.zeros((2, len(MEASURES), 2))
    rng = np.random.default_rng(3)
    everyone = np.arange(BLOCK)
    for _ in range(RANKINGS // BLOCK):
        # A document's best chunk: the largest of as many uniform keys as it has chunks.
        key = rng.random((BLOCK, len(CHUNKS))) ** (1.0 / CHUNKS)
        rank = np.argsort(np.argsort(-key, axis=1), axis=1) + 1
        for q in range(2):
            own = slice(start[q], start[q + 1])
            at = rank[:, doc[own]]
            order = np.argsort(at, axis=1)
            place = np.take_along_axis(at, order, 1).ravel()
            hits = Hits(np.repeat(everyone, at.shape[1]), place, grade[own][order].astype(np.int64).ravel())
            for n, measure in enumerate(measures):
                value = kernel_grade(measure, judgments)(hits, np.full(BLOCK, q), np.full(BLOCK, len(CHUNKS)))
                sums[:, n, q] += value.sum(), (value**2).sum()
    mean = sums[0] / RANKINGS
    error = np.sqrt((sums[1] / RANKINGS - mean**2) / RANKINGS)
    exact = np.array([expectation(m, judgments, ChunkCounts.of(CHUNKS), CHUNKS[doc]) for m in measures])
    assert (np.abs(mean - exact) < 4.5 * error).all(), (mean - exact) / error

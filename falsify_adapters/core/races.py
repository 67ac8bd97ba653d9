"""Chunks in random order, de-duplicated to documents: a race, and expectations over the place of one document.

A document with w chunks takes the position of its best chunk. With keys t uniform on (0, 1) for the chunks and
s = -log(1 - t), its arrival is exponential with rate w; given s, every other document is ahead independently with
probability 1 - exp(-w s). So the number B ahead is Poisson-binomial with one binomial for each chunk count, and

    E[h(rank - 1)] = integral over s of w exp(-w s) E[h(B) | s].

B is handled through its characteristic function f(x) = prod (q + p e^(ix))^n on the odd roots of unity: taking a
document out divides by one factor at each point, and on an odd number of points no factor comes near 0 (|q + p e^(ix)|
>= sin(pi / (2 L))), so nothing is lost; deconvolving the distribution itself would lose everything. Only a window of L
numbers around the mean is looked at, and only points x where |f| > 1e-18, so the cost does not grow with the pool.

The integral is Gauss-Legendre on panels that double from 1/W on, W all chunks. For h completely monotone (1, 1/(b+1),
1/log2(b+2), p^b: all the weights of the measures without a cutoff) E[h(B) | s] is bounded by its value at Re(s) in the
whole right half-plane, and each panel converges like 5.8^-40. Where a cutoff bites, panels are split to a few standard
deviations of B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from falsify_adapters.errors import InputError
from falsify_adapters.model import Floats, Ints, Judgments

_NODES, _SHARES = np.polynomial.legendre.leggauss(20)
# Tails of B below exp(-39) = 1e-17 are left out: Bernstein's bound above, Chernoff's below.
_TAIL = 39.0
_LATEST = 45.0  # a document of rate w has arrived by 45 / w but for 3e-20

Complex = np.ndarray[tuple[int, ...], np.dtype[np.complex128]]
Weight = Callable[[Floats], Floats]  # h(b) of b = 0, 1, 2, ... documents ahead, positive and completely monotone


@dataclass(frozen=True, slots=True, eq=False)
class ChunkCounts:
    """A collection as far as chance sees it: weights (C,) distinct chunk counts, ascending from 1 or more;
    documents: (C,) documents with each. Documents without a chunk cannot be retrieved and are not in it."""

    weights: Ints
    documents: Ints

    def __post_init__(self) -> None:
        w, n = np.asarray(self.weights), np.asarray(self.documents)
        if w.ndim != 1 or w.shape != n.shape:
            raise InputError(f"`weights` has shape {w.shape} and `documents` {n.shape}", legal="two rows of one length")
        if len(w) and (w[0] < 1 or (np.diff(w) <= 0).any() or n.min() < 1):
            raise InputError(
                "chunk counts are not in order",
                legal="`weights` ascending from 1 or more, each once; `documents` 1 or more",
                mend="Use ChunkCounts.of with the number of chunks of every document.",
            )

    @classmethod
    def of(cls, per_document: Ints) -> ChunkCounts:
        """From the number of chunks of every document, (N,); those without a chunk are left out."""
        weights, documents = np.unique(per_document[per_document > 0], return_counts=True)
        return cls(weights.astype(np.int64), documents.astype(np.int64))

    @property
    def n_docs(self) -> int:
        """N: the documents that can be retrieved."""
        return int(self.documents.sum())

    @property
    def n_chunks(self) -> int:
        return int(self.weights @ self.documents)


def kinds_of(judgments: Judgments, chunks: ChunkCounts, weight: Ints) -> Ints:
    """(J,) number of each judged document's chunk count in the collection, -1 for none. Raises InputError where the
    collection has no document of that count, or fewer than the query judges."""
    if np.shape(weight) != (len(judgments.grade),):
        raise InputError(f"`weight` has shape {np.shape(weight)} and should have ({len(judgments.grade)},)")
    kind = np.searchsorted(chunks.weights, weight)
    known = kind < len(chunks.weights)
    known[known] = chunks.weights[kind[known]] == weight[known]
    size = len(chunks.weights)
    used = np.bincount(judgments.query[known].astype(np.int64) * size + kind[known], minlength=1)
    over = np.flatnonzero(used > np.resize(chunks.documents, len(used))) if size else np.zeros(0, np.int64)
    strange = np.flatnonzero(~known & (weight != 0))
    if len(strange) or len(over):
        query = int(judgments.query[strange[0]]) if len(strange) else int(over[0]) // size
        count = int(weight[strange[0]]) if len(strange) else int(chunks.weights[over[0] % size])
        judged = 1 if len(strange) else int(used[over[0]])
        there = 0 if len(strange) else int(chunks.documents[over[0] % size])
        raise InputError(
            f"query {judgments.queries[query]!r} judges {judged} document(s) of {count} chunks, the collection has "
            f"{there} of them",
            legal="chunk counts of judged documents that are those of the collection",
            mend="Count both from one list of all chunk ids.",
        )
    return np.where(known, kind, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """The documents that a document may find ahead of it.

    rate: (C,) chunk counts; most: (C,) documents of each; least: (R, C) what may be left of them when the documents
    of each of R cases are taken out of the race; limit: how many can be ahead at all.
    """

    rate: Floats
    most: Floats
    least: Floats
    limit: int

    def most_ahead(self, s: float) -> tuple[float, float]:
        """Mean and variance of the number ahead at time s, nothing taken out."""
        p, q = -np.expm1(-self.rate * s), np.exp(-self.rate * s)
        return float(self.most @ p), float(self.most @ (p * q))

    def least_ahead(self, s: float) -> tuple[float, float]:
        """Mean and variance of the number ahead at time s, the smallest of each over the cases."""
        p, q = -np.expm1(-self.rate * s), np.exp(-self.rate * s)
        return float((self.least @ p).min()), float((self.least @ (p * q)).min())


def _time(mean: Callable[[float], float], goal: float, latest: float) -> float:
    """When a rising mean reaches its goal, to 1 in 1000; `latest` where that is later."""
    if mean(latest) < goal:
        return latest
    low, high = 0.0, latest
    while high - low > 1e-3 * high:
        middle = (low + high) / 2.0 if low else high / 16.0
        low, high = (middle, high) if mean(middle) < goal else (low, middle)
    return high


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The S nodes of one panel of the integral over s.

    s, step: (S,) times and quadrature weights; stay, gone: (S, C) exp(-w s) and 1 - exp(-w s); log_factor: (S, C, F)
    logarithm of q + p e^(ix) at F points x; turn: (F,) e^(ix); weight: (S, M, F) such that the characteristic
    function f (F,) of B gives E[h(B); B < m] = Re(sum of f weight).
    """

    s: Floats
    step: Floats
    stay: Floats
    gone: Floats
    log_factor: Complex
    turn: Complex
    weight: Complex


def panels(others: Others, weight: Weight, cuts: Ints, rates: Floats) -> Iterator[Panel]:
    """The panels of the integral of E[h(B); B < m] for every m of `cuts` (M,), for arrivals of the given rates.

    Cuts should lie within a factor of two of each other, or else all above `others.limit`: they share the panels.
    """
    for a, b in _intervals(others, int(cuts.min()), int(cuts.max()), rates):
        yield _panel(others, weight, cuts, a, b)


def _intervals(others: Others, first: int, last: int, rates: Floats) -> Iterator[tuple[float, float]]:
    end, whole = _LATEST / float(rates.min()), np.inf
    if first <= others.limit:
        # A cut plays no part while B surely stays below it, and nothing is left once B surely is above.
        sure = first + 26.0 - np.sqrt(2.0 * _TAIL * first + 4.0 * 169.0)
        whole = _time(lambda s: others.most_ahead(s)[0], sure, end) if sure > 0 else 0.0
        over = (np.sqrt(2.0 * _TAIL) + np.sqrt(2.0 * _TAIL + 4.0 * last)) / 2.0
        end = _time(lambda s: others.least_ahead(s)[0], over**2, end)
    a, b = 0.0, min(1.0 / (float(others.rate @ others.most) + float(rates.max())), end)
    while a < end:
        yield from _split(others, a, b, whole)
        a, b = b, min(2.0 * b, end)


def _split(others: Others, a: float, b: float, whole: float) -> Iterator[tuple[float, float]]:
    if b > whole:
        spread = min(others.least_ahead(a)[1], others.least_ahead(b)[1])
        wide = others.most_ahead(b)[0] - others.most_ahead(a)[0] > 6.0 * np.sqrt(max(spread, 1.0))
        # Towards the end of the race the last documents set the pace: their number falls by e^3 a panel at most.
        left_a, left_b = (float(others.most @ np.exp(-others.rate * s)) for s in (a, b))
        if wide or (left_a > 1e-17 and left_a > 20.0 * left_b):
            middle = (a + b) / 2.0
            yield from _split(others, a, middle, whole)
            yield from _split(others, middle, b, whole)
            return
    yield a, b


def _panel(others: Others, weight: Weight, cuts: Ints, a: float, b: float) -> Panel:
    s = a + (b - a) * (_NODES + 1.0) / 2.0
    stay, gone = np.exp(-np.multiply.outer(s, others.rate)), -np.expm1(-np.multiply.outer(s, others.rate))
    both = stay * gone
    low, narrow = (others.least @ gone.T).min(0), float((others.least @ both.T).min())
    high, spread = gone @ others.most, both @ others.most
    reach = _TAIL / 3.0 + np.sqrt((_TAIL / 3.0) ** 2 + 2.0 * _TAIL * spread)
    begin = np.maximum((low - reach).astype(np.int64), 0)
    size = int((np.minimum((high + reach).astype(np.int64) + 1, others.limit) + 1 - begin).max())
    size += 1 - size % 2
    # |f(x)| <= exp(-variance (1 - cos x)), so where there are many documents few points are left.
    points = (size + 1) // 2
    if narrow > (_TAIL + 2.0) / 2.0:
        points = min(points, int(np.arccos(1.0 - (_TAIL + 2.0) / narrow) * size / (2.0 * np.pi)) + 2)
    x = np.arange(points, dtype=np.float64) * (2.0 * np.pi / size)
    # Real sums need half of the points, those off 0 twice; e^(-ix begin) moves the window to where B is.
    double = np.where(x > 0, 2.0, 1.0) / size
    hat = np.empty((len(s), len(cuts), points), np.complex128)
    for i, first in enumerate(begin):
        ahead = np.arange(first, first + size, dtype=np.float64)
        cut = np.where(ahead < cuts[:, None], weight(ahead), 0.0)
        hat[i] = np.fft.rfft(cut, axis=1)[:, :points] * (double * np.exp(-1j * x * first))
    return Panel(s, _SHARES * ((b - a) / 2.0), stay, gone, _log_factor(gone, stay, x), np.exp(1j * x), hat)


def _log_factor(p: Floats, q: Floats, x: Floats) -> Complex:
    """(S, C, F) log(q + p e^(ix)): exact for small p and many documents, and near the zero at p = 1/2, x = pi."""
    real, imaginary = q[..., None] + p[..., None] * np.cos(x), p[..., None] * np.sin(x)
    loss = 4.0 * (p * q)[..., None] * np.sin(x / 2.0) ** 2
    far = loss < 0.5
    size = np.where(far, np.log1p(-np.where(far, loss, 0.0)) / 2.0, np.log(np.hypot(real, imaginary)))
    return np.asarray(size + 1j * np.arctan2(imaginary, real))


def times(count: Floats, z: Complex) -> Complex:
    """Real (R, T) times complex (.., T, F): half the work of a complex product, and fast for small tables."""
    return np.asarray((count @ np.ascontiguousarray(z).view(np.float64)).view(np.complex128))


def real_times(a: Complex, b: Complex) -> Floats:
    """(.., R, M) real part of (.., R, F) times the transpose of (.., M, F)."""
    left, right = np.conj(a).view(np.float64), np.ascontiguousarray(b).view(np.float64)
    return np.asarray(left @ np.swapaxes(right, -1, -2))

"""Is your retriever's noise floor where probability puts it? Put your own encoder into `embed` and run this file.

    python live_noise.py [FOLDER]

It builds an index over a small made corpus, ranks it once with real vectors and five times with random ones, writes
qrels and runs into FOLDER (noise-example), and holds them against the exact floor with `falsify-adapters floor` where
that is installed; the command is printed, too. Needs numpy and nothing else.

What is tested is everything around the encoder: chunking, the index, filters, fusion, rerankers, ids, the evaluation.
With random vectors all of it should score the floor. What scores more does not come from the vectors.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float64]

DIMENSIONS, DEPTH, SEEDS = 256, 100, 5
TOPICS, PER_TOPIC, WORDS = 60, 4, 12


def embed(texts: Sequence[str]) -> Vectors:
    """REPLACE THIS by your own encoder: (n,) texts in, (n, d) vectors out. Nothing else changes.

    Here: how often each word occurs, words hashed to dimensions.
    """
    out = np.zeros((len(texts), DIMENSIONS))
    for row, text in zip(out, texts, strict=True):
        for word in text.split():
            row[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    return out


def random_vectors(n: int, dimensions: int, rng: np.random.Generator) -> Vectors:
    """Gaussian vectors: every direction is as likely as any other.

    Not rng.random((n, d)). Numbers from 0 to 1 are not centred: all vectors point into one corner, and a few documents
    (hubs) come first for every query. The mean stays where it is, but queries with gold in common no longer fail
    independently, the mean score spreads wider than Check 1 counts on, and it cries wolf: 1.28 times as wide on a
    production benchmark; with 28 queries that share 6 gold documents of 218, 1.1 times by cosine and 1.7 times by dot
    product. Draw from a Gaussian, or subtract 0.5.
    """
    return rng.standard_normal((n, dimensions))


def search(documents: Vectors, queries: Vectors, depth: int) -> tuple[NDArray[np.int64], Vectors]:
    """The index: (Q, depth) numbers of the nearest documents by cosine, best first, and their scores.

    Put your own index here, with all that stands around it, if that is what you want to test.
    """
    documents = documents / np.maximum(np.linalg.norm(documents, axis=1, keepdims=True), 1e-12)
    queries = queries / np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-12)
    score = queries @ documents.T
    order = np.argsort(-score, axis=1, kind="stable")[:, :depth]
    return order, np.take_along_axis(score, order, axis=1)


def corpus() -> tuple[dict[str, str], dict[str, str], dict[str, list[str]]]:
    """Texts of documents and of queries by id, and the gold documents of each query: always the same made data."""
    rng = np.random.default_rng(0)
    vocabulary = [f"w{n}" for n in range(800)]
    documents, queries, gold = {}, {}, {}
    for topic in range(TOPICS):
        about = rng.choice(vocabulary, WORDS, replace=False)
        names = [f"d{topic:02d}-{n}" for n in range(PER_TOPIC)]
        for name in names:
            documents[name] = " ".join([*rng.choice(about, 6, replace=False), *rng.choice(vocabulary, 12)])
        queries[f"q{topic:02d}"] = " ".join(rng.choice(about, 4, replace=False))
        gold[f"q{topic:02d}"] = names[: int(rng.integers(1, PER_TOPIC + 1))]
    return documents, queries, gold


def write_run(
    path: Path, queries: Sequence[str], documents: Sequence[str], found: tuple[NDArray[np.int64], Vectors]
) -> None:
    """A run in TREC format."""
    with path.open("w", encoding="utf-8") as file:
        for query, order, scores in zip(queries, *found, strict=True):
            for rank, (doc, score) in enumerate(zip(order, scores, strict=True), 1):
                file.write(f"{query} Q0 {documents[doc]} {rank} {score:.9f} {path.stem}\n")


def write_runs(
    folder: Path, documents: Sequence[str], queries: Sequence[str], vectors: tuple[Vectors, Vectors], depth: int = DEPTH
) -> tuple[Path, list[Path]]:
    """real.run from the vectors given, (N, d) of documents and (Q, d) of queries, and one run per seed from noise."""
    folder.mkdir(parents=True, exist_ok=True)
    real = folder / "real.run"
    write_run(real, queries, documents, search(*vectors, depth))
    noise = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        drawn = [random_vectors(*part.shape, rng) for part in vectors]
        noise.append(folder / f"noise-seed{seed}.run")
        write_run(noise[-1], queries, documents, search(drawn[0], drawn[1], depth))
    return real, noise


def check(qrels: Path, pool: int, real: Path, noise: Sequence[Path]) -> int:
    """Print the command that checks the floor, and run it where it is installed. Returns its exit status."""
    command = ["floor", str(qrels), "-m", "RR@10", "-m", "nDCG@10", "--pool", str(pool), "--run", str(real)]
    command += [part for path in noise for part in ("--noise", str(path))]
    print("falsify-adapters", *command, flush=True)
    if importlib.util.find_spec("falsify_adapters") is None:
        print("falsify-adapters is not installed: install it and run this command.")
        return 0
    print(flush=True)
    return subprocess.run([sys.executable, "-m", "falsify_adapters", *command], check=False).returncode


def main(folder: Path, encoder: Callable[[Sequence[str]], Vectors] = embed) -> int:
    documents, queries, gold = corpus()
    vectors = encoder(list(documents.values())), encoder(list(queries.values()))
    real, noise = write_runs(folder, list(documents), list(queries), vectors)
    qrels = folder / "qrels.txt"
    lines = [f"{query} 0 {doc} 1\n" for query, docs in gold.items() for doc in docs]
    qrels.write_text("".join(lines), encoding="utf-8")
    return check(qrels, len(documents), real, noise)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "noise-example")))

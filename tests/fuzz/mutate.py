"""Files turned hostile: python tests/fuzz/mutate.py [TIMES] [SEED].

Small pieces of real files (made ones where the reference data is absent), each mutated some way: bytes flipped, lines
cut, joined, repeated and swapped, fields swapped, encodings changed, numbers made extreme. Every mutant goes through
the gate, or the audit where it is a result file. The outcome is a result or one of our named errors, within ten
seconds; anything else is printed with the number that makes it again.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator

from falsify_adapters import audit_mteb, gate
from falsify_adapters.errors import FalsifyError

LONGEST = 10.0
ODD = [
    b"nan",
    b"inf",
    b"-inf",
    b"1e400",
    b"-0",
    b"1_000",
    b"0x10",
    b"99999999999999999999",
    b"",
    b"\xef\xbb\xbf",
    b"\x00",
]
ODD += ["\u0663".encode(), "\u2028".encode(), b"\x1b[31m", b"=1+1", b"<script>", b"#", b"\r", b"\xff\xfe", b"\t", b"  "]

Mutation = Callable[[bytes, Generator], bytes]


def flip(data: bytes, rng: Generator) -> bytes:
    """Bits of up to four bytes."""
    out = bytearray(data)
    for at in rng.integers(len(out), size=int(rng.integers(1, 5))):
        out[at] ^= 1 << int(rng.integers(8))
    return bytes(out)


def cut(data: bytes, rng: Generator) -> bytes:
    """The end or the beginning is gone."""
    at = int(rng.integers(len(data) + 1))
    return data[:at] if rng.random() < 0.7 else data[at:]


def insert(data: bytes, rng: Generator) -> bytes:
    """Something odd in between."""
    at = int(rng.integers(len(data) + 1))
    return data[:at] + ODD[int(rng.integers(len(ODD)))] + data[at:]


def lines(data: bytes, rng: Generator) -> bytes:
    """Lines repeated, dropped, swapped or joined."""
    rows = data.split(b"\n")
    i, j = (int(n) for n in rng.integers(len(rows), size=2))
    match int(rng.integers(4)):
        case 0:
            rows.insert(j, rows[i])
        case 1:
            del rows[i]
        case 2:
            rows[i], rows[j] = rows[j], rows[i]
        case _:
            rows[i : i + 2] = [b"".join(rows[i : i + 2])]
    return b"\n".join(rows)


def fields(data: bytes, rng: Generator) -> bytes:
    """Two fields of a line swapped, one dropped, or one replaced."""
    rows = data.split(b"\n")
    at = int(rng.integers(len(rows)))
    cells = rows[at].split()
    if not cells:
        return data
    i, j = (int(n) for n in rng.integers(len(cells), size=2))
    match int(rng.integers(3)):
        case 0:
            cells[i], cells[j] = cells[j], cells[i]
        case 1:
            del cells[i]
        case _:
            cells[i] = ODD[int(rng.integers(len(ODD)))]
    rows[at] = (b"\t" if b"\t" in rows[at] else b" ").join(cells)
    return b"\n".join(rows)


def recode(data: bytes, rng: Generator) -> bytes:
    """Another encoding, other line ends, packed, or packed and broken."""
    text = data.decode("utf-8", "replace")
    match int(rng.integers(5)):
        case 0:
            return text.encode("utf-16")
        case 1:
            return b"\xef\xbb\xbf" + data
        case 2:
            return data.replace(b"\n", (b"\r\n", b"\r")[int(rng.integers(2))])
        case 3:
            return gzip.compress(data, mtime=0)
        case _:
            return flip(gzip.compress(data, mtime=0), rng)


MUTATIONS: tuple[Mutation, ...] = (flip, cut, insert, lines, fields, recode)


def mutant(data: bytes, rng: Generator) -> bytes:
    """One to three mutations."""
    for _ in range(int(rng.integers(1, 4))):
        if data:
            data = MUTATIONS[int(rng.integers(len(MUTATIONS)))](data, rng)
    return data


@dataclass(frozen=True, slots=True)
class Seed:
    """Files by name, and what is done with the folder that holds them."""

    name: str
    files: dict[str, bytes]
    use: Callable[[Path], object]


def gated(qrels: str, run: str) -> Callable[[Path], object]:
    """The gate over two files of a folder."""
    return lambda folder: gate(str(folder / qrels), str(folder / run), ["nDCG@10", "RR"], n_boot=100).to_dict()


def audited(folder: Path) -> object:
    """The audit of a folder, to the last row."""
    return audit_mteb(
        str(folder / "results"), stats=str(folder / "stats.jsonl"), measures=["ndcg_at_10", "main_score"]
    ).to_dict()


def seeds() -> Iterator[Seed]:
    """Small files of every text format that is read."""
    gold = {f"q{q}": {f"d{q}": 1, f"d{q + 3}": 2} for q in range(8)}
    found = {q: {f"d{n}": 1.5 - 0.1 * n for n in range(int(q[1:]), 12)} for q in gold}
    trec_gold = "".join(f"{q} 0 {d} {n}\n" for q in gold for d, n in gold[q].items()).encode()
    trec_run = "".join(
        f"{q} Q0 {d} {n} {s} t\n" for q in found for n, (d, s) in enumerate(found[q].items(), 1)
    ).encode()
    tsv = "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{n}\n" for q in gold for d, n in gold[q].items())
    yield Seed("trec", {"qrels.txt": trec_gold, "a.run": trec_run}, gated("qrels.txt", "a.run"))
    yield Seed("trec.gz", {"qrels.txt.gz": trec_gold, "a.run.gz": trec_run}, gated("qrels.txt.gz", "a.run.gz"))
    files = {"qrels.tsv": tsv.encode(), "results.json": json.dumps(found).encode()}
    yield Seed("beir", files, gated("qrels.tsv", "results.json"))
    files = {"qrels.json": json.dumps(gold).encode(), "run.json": json.dumps(found).encode()}
    yield Seed("ranx", files, gated("qrels.json", "run.json"))
    scores = {"ndcg_at_10": 0.3, "map_at_10": 0.25, "main_score": 0.3, "hf_subset": "default"}
    result = {"task_name": "Made", "mteb_version": "1.2", "scores": {"test": [scores]}}
    relevant = {"num_relevant_docs": 16, "min_relevant_docs_per_query": 2, "average_relevant_docs_per_query": 2.0}
    relevant |= {"max_relevant_docs_per_query": 2, "unique_relevant_docs": 11}
    stats = {"task": "Made", "folder": "Retrieval", "split": "test", "subset": None, "num_documents": 12}
    stats |= {"num_queries": 8, "num_samples": 20, "relevant_docs_statistics": relevant, "top_ranked_statistics": None}
    files = {
        "results/model/rev/Made.json": json.dumps(result, indent=1).encode(),
        "stats.jsonl": json.dumps(stats).encode(),
    }
    yield Seed("mteb", files, audited)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mutant: "result", the name of our error, or a fault with its traceback."""

    kind: str
    fault: str = ""


def outcome(seed: Seed, times: int, folder: Path) -> Outcome:
    """The mutant of this number: one of the files changed, the rest as they were."""
    rng = np.random.default_rng([times, *seed.name.encode()])
    changed = sorted(seed.files)[int(rng.integers(len(seed.files)))]
    for name, data in seed.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mutant(data, rng) if name == changed else data)
    began = time.monotonic()
    try:
        seed.use(folder)
        kind = "result"
    except FalsifyError as error:
        kind = type(error).__name__
    except BaseException as error:  # a Rust panic is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return Outcome("fault", traceback.format_exc())
    took = time.monotonic() - began
    return Outcome(kind, f"{took:.1f} s" if took > LONGEST else "")


def fuzz(times: int, seed: int, show: Callable[[str], None] = print) -> Counter[str]:
    """Outcomes of so many mutants of every kind of file; faults are shown."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(seed, seed + times):
            for kind in seeds():
                found = outcome(kind, number, Path(folder) / kind.name)
                counts["fault" if found.fault else found.kind] += 1
                if found.fault:
                    show(f"{kind.name} {number}: {found.fault}")
    return counts


def main() -> None:
    """Print the faults, then how often each outcome was seen."""
    given = [int(text) for text in sys.argv[1:3]]
    times, seed = [*given, *[1000, 0][len(given) :]]
    counts = fuzz(times, seed)
    print(dict(counts.most_common()))
    sys.exit(counts["fault"] > 0)


if __name__ == "__main__":
    main()

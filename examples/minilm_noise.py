"""The same as live_noise.py with real vectors: all-MiniLM-L6-v2 on the Cranfield collection, 1400 documents.

    python minilm_noise.py [FOLDER]

The vectors are read and not computed, so this needs numpy only, and the folder of reference data: FALSIFY_SHARED, or
`shared` beside the repository. Without it the script says so and ends.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from live_noise import check, write_runs

SHARED = Path(os.environ.get("FALSIFY_SHARED") or Path(__file__).resolve().parents[2] / "shared")


def main(folder: Path) -> int:
    data = SHARED / "data" / "corpora" / "cranfield"
    if not data.is_dir():
        print(f"no reference data at {data}: nothing to do. FALSIFY_SHARED names their folder.")
        return 0
    documents = (data / "doc_ids.txt").read_text(encoding="utf-8").split()
    with (data / "queries.jsonl").open(encoding="utf-8") as file:
        queries = [json.loads(line)["_id"] for line in file]
    with np.load(data / "minilm_vectors_fp16.npz") as stored:
        vectors = stored["docs"].astype(np.float64), stored["queries"].astype(np.float64)
    real, noise = write_runs(folder, documents, queries, vectors)
    return check(data / "qrels.txt", len(documents), real, noise)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "minilm-example")))

"""The ten measure families that have kernels and closed floors here, as the measures hook offers them."""

from __future__ import annotations

from falsify_adapters.offers import MeasureSpec

_TREC_EVAL = "trec_eval 9 (Buckley and Voorhees, NIST)"

FAMILIES: tuple[MeasureSpec, ...] = (
    MeasureSpec(
        "AP",
        "average precision",
        "mean over all gold documents of the precision at their rank, 0 for those not retrieved",
        f"{_TREC_EVAL}, map and map_cut",
    ),
    MeasureSpec(
        "bpref",
        "binary preference",
        "mean over gold documents of 1 - min(n, G) / min(G, M), n judged non-relevant documents above",
        "Buckley and Voorhees 2004, as in trec_eval 9",
        needs_cutoff=False,
    ),
    MeasureSpec(
        "ERR",
        "expected reciprocal rank",
        "sum over ranks of 1/r times the chance that the user stops there, stop(g) = (2^g - 1) / 2^4",
        "Chapelle, Metzler, Zhang and Grinspan 2009, as in gdeval",
        graded=True,
    ),
    MeasureSpec(
        "nDCG",
        "normalised discounted cumulative gain",
        "sum of gain / log2(rank + 1), divided by that of the best list of all gold",
        "Jarvelin and Kekalainen 2002, as in trec_eval 9; dcg='exp-log2': Burges et al. 2005",
        graded=True,
    ),
    MeasureSpec(
        "P",
        "precision",
        "gold documents in the first k, divided by k",
        f"{_TREC_EVAL}, P",
        needs_cutoff=True,
    ),
    MeasureSpec(
        "R",
        "recall",
        "gold documents in the first k, divided by all gold documents",
        f"{_TREC_EVAL}, recall",
        needs_cutoff=True,
    ),
    MeasureSpec(
        "RBP",
        "rank-biased precision",
        "(1 - p) times the sum of p^(rank - 1) over gold documents",
        "Moffat and Zobel 2008",
        params=(("p", 0.8),),
    ),
    MeasureSpec(
        "Rprec",
        "R-precision",
        "gold documents in the first G, divided by G, the number of gold documents",
        f"{_TREC_EVAL}, Rprec",
        needs_cutoff=False,
    ),
    MeasureSpec(
        "RR",
        "reciprocal rank",
        "1 / rank of the first gold document",
        f"{_TREC_EVAL}, recip_rank",
    ),
    MeasureSpec(
        "Success",
        "success",
        "1 where a gold document is in the first k, else 0",
        f"{_TREC_EVAL}, success",
        needs_cutoff=True,
    ),
)

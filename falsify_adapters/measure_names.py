"""The table of measure families: what each is called, means and takes, and how far into a list it looks.

Data only; `measures.parse` reads it. Spellings are looked up folded: lower case, "-" as "_", Greek alpha as "alpha".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = float | int | str | bool

REQUIRED, OPTIONAL, NONE = "required", "optional", "none"
AT_CUTOFF, LAST_JUDGED, WHOLE_LIST = "cutoff", "last judged document", "whole list"


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a family: its type, the open or closed range it lies in, its default (None: must be given)."""

    type: type
    low: float = float("-inf")
    high: float = float("inf")
    open: bool = False
    default: Value | None = None
    shown: bool = False  # the canonical spelling names it even where it is the default

    @property
    def legal(self) -> str:
        if self.type is bool:
            return "True or False"
        kind = "a whole number" if self.type is int else "a number"
        if self.high == float("inf"):
            return f"{kind} above {self.low:g}" if self.open else f"{kind} from {self.low:g} up"
        if self.open:
            return f"{kind} strictly between {self.low:g} and {self.high:g}"
        return f"{kind} from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Family:
    """One measure family.

    cutoff: whether @k is "required", "optional" or "none"; level: whether it takes a relevance level (rel=);
    zero_without_gold: the value is 0 where no gold document was retrieved; tail: how far into a list an uncut
    measure looks (a cut one never looks past its cutoff, save with judged_only).
    """

    name: str
    title: str
    meaning: str
    aliases: tuple[str, ...] = ()
    cutoff: str = NONE
    level: bool = True
    params: Mapping[str, Param] = field(default_factory=dict)
    zero_without_gold: bool = False
    tail: str = WHOLE_LIST


_JUDGED_ONLY = {"judged_only": Param(bool, default=False)}
_PERSISTENCE = Param(float, 0, 1, open=True, default=0.8, shown=True)
_GRADES = {"min_rel": Param(int, 0, default=0), "max_rel": Param(int, 1)}
_GOAL = {"T": Param(float, 0, open=True, default=1.0)}
_ALPHA = {"alpha": Param(float, 0, 1, default=0.5)}
_BETA = {"beta": Param(float, 0, 1, open=True, default=0.5)}


def _known(
    name: str,
    title: str,
    meaning: str,
    aliases: tuple[str, ...] = (),
    cutoff: str = NONE,
    level: bool = True,
    params: Mapping[str, Param] | None = None,
    zero_without_gold: bool = True,
    tail: str = LAST_JUDGED,
) -> Family:
    """A family of this table: unlike a stranger's, 0 without a gold hit and blind behind the last one unless said."""
    return Family(name, title, meaning, aliases, cutoff, level, params or {}, zero_without_gold, tail)


FAMILIES: tuple[Family, ...] = (
    _known("nDCG", "Normalised discounted cumulative gain",
           "Gain of the ranked grades, discounted by 1/log2(rank + 1), over that of the ideal ranking.",
           ("ndcg", "ndcg_cut"), OPTIONAL, False, _JUDGED_ONLY),
    _known("AP", "Average precision",
           "Mean over all relevant documents of the precision at each one's rank, 0 where not retrieved.",
           ("ap", "map", "map_cut", "average_precision", "mean_average_precision"), OPTIONAL, True, _JUDGED_ONLY),
    _known("RR", "Reciprocal rank", "One over the rank of the first relevant document.",
           ("rr", "mrr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"), OPTIONAL, True, _JUDGED_ONLY),
    _known("P", "Precision", "Share of the top k that is relevant; a short list still divides by k.",
           ("p", "precision"), REQUIRED, True, _JUDGED_ONLY),
    _known("R", "Recall", "Share of the relevant documents found in the top k.",
           ("r", "recall"), OPTIONAL, True, _JUDGED_ONLY),
    _known("Success", "Success", "1 where the top k holds a relevant document, else 0.",
           ("success", "hit_rate", "hitrate", "hit"), REQUIRED, True, _JUDGED_ONLY),
    _known("Rprec", "R-precision", "Precision at rank R, the number of relevant documents.",
           ("rprec", "r_precision", "rprecision", "r_prec"), NONE, True, _JUDGED_ONLY),
    _known("bpref", "Binary preference",
           "How seldom judged non-relevant documents stand above relevant ones; unjudged ones are passed over.",
           ("bpref", "binary_preference")),
    _known("RBP", "Rank-biased precision", "Relevant documents weighted by (1 - p) p^(rank - 1).",
           ("rbp", "rank_biased_precision"), OPTIONAL, True, {"p": _PERSISTENCE}),
    _known("ERR", "Expected reciprocal rank",
           "Expected 1/rank at which a reader stops, who stops at a grade g with probability (2^g - 1)/16.",
           ("err", "expected_reciprocal_rank"), OPTIONAL, False),
    _known("F1", "F1 at k", "Harmonic mean of P@k and R@k.", ("f1",), REQUIRED),
    _known("SetP", "Set precision", "Share of the retrieved documents that is relevant.",
           ("setp", "set_p"), NONE, True, {"relative": Param(bool, default=False), **_JUDGED_ONLY}, tail=WHOLE_LIST),
    _known("SetR", "Set recall", "Share of the relevant documents that was retrieved.", ("setr", "set_recall")),
    _known("SetF", "Set F", "Weighted harmonic mean of set precision and set recall.", ("setf", "set_f"), NONE, True,
           {"beta": Param(float, 0, open=True, default=1.0), **_JUDGED_ONLY}, tail=WHOLE_LIST),
    _known("SetAP", "Set average precision", "Set precision times set recall.", ("setap", "set_map"), NONE, True,
           _JUDGED_ONLY, tail=WHOLE_LIST),
    _known("IPrec", "Interpolated precision", "Highest precision at any rank where recall is at least the level given.",
           ("iprec", "iprec_at_recall", "ircl_prn"), NONE, True, {"recall": Param(float, 0, 1), **_JUDGED_ONLY}),
    _known("11pt_avg", "Eleven-point average precision", "Mean interpolated precision at recall 0, 0.1, ..., 1.",
           ("11pt_avg", "11pt", "11_pt_avg")),
    _known("infAP", "Inferred AP", "Average precision estimated from a sample of judgments.", ("infap",)),
    _known("relative_P", "Relative precision", "P@k over the highest P@k that the number of relevant documents allows.",
           ("relative_p",), REQUIRED),
    _known("Accuracy", "Pair accuracy",
           "Probability that a retrieved relevant document stands above a retrieved non-relevant one.",
           ("accuracy",), OPTIONAL, tail=WHOLE_LIST),
    _known("Compat", "Compatibility", "Rank-biased overlap with the closest ideal ranking.", ("compat",), NONE, False,
           {"p": Param(float, 0, 1, open=True, default=0.95, shown=True), "normalize": Param(bool, default=True)},
           tail=WHOLE_LIST),
    _known("BPM", "Bejeweled player model", "C/W/L measure of a reader with a goal of T and patience for k documents.",
           ("bpm",), REQUIRED, False, {**_GOAL, **_GRADES}),
    _known("SDCG", "Scaled DCG", "DCG over that of k documents of the highest grade.", ("sdcg",), REQUIRED, False,
           _GRADES),
    _known("NERR8", "Nearly ERR, eq. 8", "C/W/L approximation of ERR, cut at k.", ("nerr8",), REQUIRED, False, _GRADES),
    _known("NERR9", "Nearly ERR, eq. 9", "C/W/L approximation of ERR with a discount, cut at k.", ("nerr9",), REQUIRED,
           False, _GRADES),
    _known("NERR10", "Nearly ERR, eq. 10", "C/W/L approximation of ERR with persistence p.", ("nerr10",), NONE, False,
           {"p": Param(float, 0, 1, open=True, default=0.9, shown=True), **_GRADES}),
    _known("NERR11", "Nearly ERR, eq. 11", "C/W/L approximation of ERR with a goal of T.", ("nerr11",), NONE, False,
           {**_GOAL, **_GRADES}),
    _known("INST", "INST", "C/W/L measure of a reader who expects T relevant documents and adapts.", ("inst",), NONE,
           False, {**_GOAL, **_GRADES}),
    _known("INSQ", "INSQ", "C/W/L measure of a reader who expects T relevant documents.", ("insq",), NONE, False,
           {**_GOAL, **_GRADES}),
    _known("alpha_nDCG", "Alpha-nDCG", "nDCG over subtopics, repeats worth less.", ("alpha_ndcg",), OPTIONAL, True,
           _ALPHA, False, WHOLE_LIST),
    _known("ERR_IA", "Intent-aware ERR", "ERR averaged over subtopics.", ("err_ia",), OPTIONAL, True, {}, False,
           WHOLE_LIST),
    _known("nERR_IA", "Normalised intent-aware ERR", "ERR_IA over its ideal.", ("nerr_ia",), OPTIONAL, True, {}, False,
           WHOLE_LIST),
    _known("NRBP", "Novelty- and rank-biased precision", "RBP over subtopics.", ("nrbp",), NONE, True,
           {**_ALPHA, **_BETA}, False, WHOLE_LIST),
    _known("nNRBP", "Normalised NRBP", "NRBP over its ideal.", ("nnrbp",), NONE, True, {**_ALPHA, **_BETA}, False,
           WHOLE_LIST),
    _known("AP_IA", "Intent-aware AP", "AP averaged over subtopics.", ("ap_ia", "map_ia"), NONE, True, {}, False,
           WHOLE_LIST),
    _known("P_IA", "Intent-aware precision", "Precision averaged over subtopics.", ("p_ia",), OPTIONAL, True, {}, False,
           WHOLE_LIST),
    _known("StRecall", "Subtopic recall", "Share of the subtopics that the top k covers.", ("strecall", "strec"),
           OPTIONAL, True, {}, False, WHOLE_LIST),
)  # fmt: skip

BY_NAME: Mapping[str, Family] = {f.name: f for f in FAMILIES}
ALIASES: Mapping[str, Family] = {alias: f for f in FAMILIES for alias in f.aliases} | {
    "ndcg_burges": BY_NAME["nDCG"],
    "setrelp": BY_NAME["SetP"],
    "set_relative_p": BY_NAME["SetP"],
}
# Parameters that a spelling sets by itself.
PRESETS: Mapping[str, Mapping[str, Value]] = {
    "ndcg_burges": {"dcg": "exp-log2"},
    "setrelp": {"relative": True},
    "set_relative_p": {"relative": True},
}
# Spellings whose meaning depends on whether a cutoff follows: ranx's uncut precision and F1 are the set measures.
UNCUT: Mapping[str, Family] = {"precision": BY_NAME["SetP"], "f1": BY_NAME["SetF"]}
# Spellings after which trec_eval and others put a number behind "_" or ".", and the parameter that it is.
NUMBERED: Mapping[str, str] = {
    **dict.fromkeys(
        ("p", "precision", "r", "recall", "success", "hit_rate", "relative_p", "ndcg_cut", "map_cut"), "cutoff"
    ),
    **dict.fromkeys(("iprec_at_recall", "ircl_prn"), "recall"),
    "set_f": "beta",
}

_COUNT = "it counts, and a count is no measure of quality"
_UNBOUNDED = "its values are not confined to [0, 1]"
NO_GATE: Mapping[str, str] = {
    **dict.fromkeys(
        ("numq", "num_q", "numret", "num_ret", "numrel", "num_rel", "numrelret", "num_rel_ret", "hits",
         "num_nonrel_judged_ret"), _COUNT),
    "judged": "it measures the judgments, not the quality of a ranking",
    **dict.fromkeys(("dcg", "dcg_cut", "dcg_burges", "alpha_dcg", "utility"), _UNBOUNDED),
    **dict.fromkeys(("gm_map", "gm_bpref"), "trec_eval computes it per query as a logarithm, below 0"),
    **dict.fromkeys(("runid", "relstring"), "it is a text"),
}  # fmt: skip
# The measure to use instead, where there is one.
INSTEAD: Mapping[str, str] = {
    "hits": "Success", "dcg": "nDCG", "dcg_cut": "nDCG", "dcg_burges": "nDCG", "alpha_dcg": "alpha_nDCG",
    "gm_map": "AP", "gm_bpref": "bpref", "numrelret": "R", "num_rel_ret": "R",
}  # fmt: skip

# trec_eval's official set in the order of its output, without the counts and the logarithmic gm_map.
OFFICIAL = (
    "AP", "Rprec", "bpref", "RR",
    *(f"IPrec@{level / 10}" for level in range(11)),
    *(f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
)  # fmt: skip


def fold(name: str) -> str:
    """The key under which a spelling is looked up."""
    return name.casefold().replace("-", "_").replace("α", "alpha")

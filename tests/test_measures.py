"""Every spelling that users bring, into the one canonical name; and what the refusals say."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falsify_adapters.errors import MeasureError
from falsify_adapters.measure_names import ALIASES, BY_NAME, FAMILIES, NO_GATE, NONE, REQUIRED
from falsify_adapters.measures import KERNEL_FAMILIES, Measure, looks_to, parse, parse_many, zero_without_gold

SPELLINGS = {
    "nDCG@10": "nDCG@10 ndcg@10 NDCG@10 ndcg_cut_10 ndcg_cut.10 ndcg_at_10 NDCG_AT_10 nDCG(dcg='log2')@10 ndcg@010",
    "nDCG": "nDCG ndcg NDCG",
    "nDCG(dcg='exp-log2')@10": "nDCG(dcg='exp-log2')@10 nDCG(dcg=\"exp-log2\")@10 ndcg_burges@10 nDCG(dcg=exp-log2)@10",
    "RR": "RR rr MRR mrr recip_rank",
    "RR@10": "RR@10 MRR@10 mrr@10 mrr_at_10 recip_rank@10",
    "AP": "AP map MAP ap",
    "AP@100": "AP@100 map@100 MAP@100 map_cut_100 map_cut.100 map_at_100",
    "AP(rel=2)@100": "AP(rel=2)@100 AP@100(rel=2) map@100-l2 map_cut_100-l2",
    "P@10": "P@10 p@10 P_10 P.10 precision@10 Precision@10 precision_at_10 P(rel=1)@10",
    "R@100": "R@100 r@100 recall@100 Recall@100 recall_100 recall.100 recall_at_100",
    "R": "R recall",
    "Success@5": "Success@5 success_5 success.5 hit_rate@5 hit_rate_at_5 Hit-Rate@5",
    "Rprec": "Rprec RPrec r-precision R-Precision",
    "bpref": "bpref Bpref BPref",
    "bpref(rel=2)": "Bpref(rel=2) bpref-l2",
    "RBP(p=0.8)": "RBP rbp RBP(p=0.8) rbp.8 rbp.80",
    "RBP(p=0.95)": "RBP(p=0.95) rbp.95",
    "RBP(p=0.5,rel=2)@20": "RBP(p=0.5,rel=2)@20 RBP(rel=2,p=.5)@20",
    "ERR@20": "ERR@20 err@20",
    "F1@10": "F1@10 f1@10",
    "SetF": "SetF f1 set_F SetF(beta=1)",
    "SetF(beta=0.5)": "SetF(beta=0.5) set_F.0.5 set_F_0.5",
    "SetP": "SetP set_P precision",
    "SetP(relative=True)": "SetRelP set_relative_P SetP(relative=true)",
    "SetR": "SetR set_recall",
    "SetAP": "SetAP set_map",
    "IPrec@0.1": "IPrec@0.1 iprec_at_recall_0.10 iprec_at_recall.0.10 IPrec(recall=0.1)",
    "11pt_avg": "11pt_avg 11pt",
    "infAP": "infAP infap",
    "relative_P@5": "relative_P_5 relative_P.5",
    "Accuracy@10": "Accuracy@10",
    "Compat(p=0.95)": "Compat compat(normalize=True)",
    "NERR8(max_rel=3)@10": "NERR8(max_rel=3)@10 NERR8(min_rel=0,max_rel=3)@10",
    "alpha_nDCG@20": "alpha_nDCG@20 α_nDCG@20 alpha-nDCG@20",
    "P(judged_only=True)@5": "P(judged_only=True)@5",
    "R@10(top1)": "R@10(top1) recall@10(top1)",
    "Rprec(top1)": "Rprec(top1)",
}  # fmt: skip
PAIRS = [(spelling, canonical) for canonical, all_of_it in SPELLINGS.items() for spelling in all_of_it.split()]


@pytest.mark.parametrize(("spelling", "canonical"), PAIRS)
def test_every_spelling_has_one_canonical_name(spelling: str, canonical: str) -> None:
    assert str(parse(spelling)) == canonical
    assert str(parse(f"  {spelling} ")) == canonical
    assert parse(parse(spelling)) == parse(spelling)


REFUSED = {
    "P@0": "P@10", "nDCG@-1": "nDCG@10", "nDCG@ten": "nDCG@10", "nDCG@1e3": "nDCG@1000", "AP@2.5": "AP@10",
    "AP@99999999999": "AP@10", "ndcg.10": "nDCG@10 (ndcg_cut.10)", "ndcg_10": "nDCG@10 (ndcg_cut.10)",
    "map.5": "AP@5 (map_cut.5)", "recip_rank.10": "RR@10", "mrr_10": "RR@10", "bpref.3": "bpref", "Rprec.5": "Rprec",
    "Rprec@5": "Rprec or P@5", "bpref@5": "bpref", "P": "P@10", "Success": "Success@10", "ndcg_cut": "nDCG@10",
    "map_cut": "AP@10", "ndgc@20": "nDCG@20", "precison@5": "P@5", "recal_100": "R@100", "MAP5": "AP@5",
    "ndcg_at_ten": "nDCG@10", "nDCG(rel=2)@10": "nDCG@10", "ndcg@10-l2": "nDCG@10", "ERR(rel=2)@5": "ERR@5",
    "nDCG@10@5": "nDCG@10", "P@5(": "P@5", "P(x=2)@5": "P@5", "IPrec": "IPrec@0.1", "IPrec@0.125": "IPrec@0.12",
    "NERR8@10": "NERR8(max_rel=3)@10", "SetP@5": "SetP", "hits@10": "Success@10", "dcg@10": "nDCG@10",
    "DCG_cut_10": "nDCG@10", "gm_map": "AP", "num_rel_ret": "R", "rbp_95": "RBP(p=0.95)", "foo": "nDCG",
}  # fmt: skip


@pytest.mark.parametrize(("spelling", "nearest"), REFUSED.items())
def test_a_refusal_names_the_nearest_legal_spelling(spelling: str, nearest: str) -> None:
    with pytest.raises(MeasureError) as raised:
        parse(spelling)
    assert spelling in str(raised.value)
    assert nearest in str(raised.value)
    for legal in re.findall(r"Did you mean ([^ ?,]+)", str(raised.value)):
        parse(legal)


@pytest.mark.parametrize(
    ("spelling", "says"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("RBP(p=1.5)", "p: a number strictly between 0 and 1"),
        ("RBP(p=nan)", "p: a number strictly between 0 and 1"),
        ("RBP(p=x)", "p: a number strictly between 0 and 1"),
        ("AP(rel=0)", "a whole number from 1"),
        ("AP(rel=1.5)", "a whole number from 1"),
        ("AP(rel=2)-l3", "gives the relevance level twice: 2 and 3"),
        ("AP(rel)@5", "name=value"),
        ("AP(rel=)", "name=value"),
        ("nDCG(dcg='exp')@5", "dcg='log2' or dcg='exp-log2'"),
        ("nDCG(gains=2)@5", "has no parameter 'gains'"),
        ("P(judged_only=3)@5", "True or False"),
        ("NERR8(max_rel=0)@5", "max_rel: a whole number from 1 up"),
        ("NERR8(max_rel=2.5)@5", "max_rel: a whole number from 1 up"),
        ("SetF(beta=-1)", "a number above 0"),
        ("P_5,10", "is no known measure"),
        ("@10", "is no known measure"),
    ],
)
def test_a_refusal_says_what_is_legal(spelling: str, says: str) -> None:
    with pytest.raises(MeasureError, match=re.escape(says)):
        parse(spelling)


@pytest.mark.parametrize("name", [*NO_GATE, "NumQ", "NumRet", "NumRel", "Judged@10", "DCG@5", "alpha_DCG@5"])
def test_what_is_no_quality_in_0_1_has_no_gate(name: str) -> None:
    with pytest.raises(MeasureError, match="has no gate: "):
        parse(name)


def test_the_default_level_goes_to_measures_that_have_one_and_do_not_state_it() -> None:
    given_level = {"AP": 2, "P@5": 2, "AP(rel=3)": 3, "AP(rel=1)": 1, "nDCG@10": 1, "ERR@20": 1, "Compat": 1}
    assert {text: parse(text, rel=2).rel for text in given_level} == given_level
    assert parse(parse("AP"), rel=2).rel == 1
    for level in (0, -1, True, 1.5):
        with pytest.raises(MeasureError, match="the relevance level is"):
            parse("AP", rel=level)  # type: ignore[arg-type]


def test_a_measure_built_by_hand_is_checked_too() -> None:
    for wrong in (Measure("P", 0), Measure("P"), Measure("Rprec", 5), Measure("RBP", params=(("p", 2.0),))):
        with pytest.raises(MeasureError):
            parse(wrong)
    assert parse(Measure("RBP")) == parse("RBP")
    assert parse(Measure("nDCG", rel=1)) == parse("nDCG")


def test_measures_of_ir_measures_are_read_by_their_attributes() -> None:
    im = pytest.importorskip("ir_measures")
    given_objects = {
        im.nDCG @ 10: "nDCG@10",
        im.nDCG(dcg="exp-log2") @ 5: "nDCG(dcg='exp-log2')@5",
        im.AP(rel=2) @ 100: "AP(rel=2)@100",
        im.RBP(p=0.5, rel=1): "RBP(p=0.5)",
        im.Bpref: "bpref",
        im.IPrec @ 0.1: "IPrec@0.1",
        im.SetRelP: "SetP(relative=True)",
        im.P(judged_only=True) @ 5: "P(judged_only=True)@5",
    }
    assert {str(o): str(parse(o)) for o in given_objects} == {str(o): name for o, name in given_objects.items()}
    for counts in (im.NumQ, im.NumRelRet, im.Judged @ 10):
        with pytest.raises(MeasureError, match="has no gate"):
            parse(counts)
    with pytest.raises(MeasureError, match="gains"):
        parse(im.nDCG(gains={1: 5}))
    with pytest.raises(MeasureError, match="is no measure"):
        parse(3.5)


def test_every_measure_of_ir_measures_is_known_or_has_no_gate() -> None:
    im = pytest.importorskip("ir_measures")
    for name, measure in im.measures.registry.items():
        if type(measure).__module__.startswith("falsify_adapters.") or name in ("ChanceCorrected", "Lift", "Floor"):
            continue  # ours, where a test before has registered them
        key = re.sub(r"\W", "_", name.casefold().replace("α", "alpha"))
        assert key in ALIASES or key in NO_GATE, name
        assert measure.NAME in BY_NAME or measure.NAME.casefold() in {*NO_GATE, "bpref"}, name


def test_parse_many_expands_official_and_lists_and_keeps_order() -> None:
    names = [str(m) for m in parse_many(["ndcg_cut.5,10", "official", "map", "NDCG@5"])]
    assert names[:6] == ["nDCG@5", "nDCG@10", "AP", "Rprec", "bpref", "RR"]
    assert names[6:17] == [f"IPrec@{i / 10}" for i in range(11)]
    assert names[17:] == [f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]
    assert [str(m) for m in parse_many("AP", rel=2)] == ["AP(rel=2)"]
    assert len(parse_many("official", offered=lambda m: m.has_kernel)) == 13
    with pytest.raises(MeasureError, match="no measure was given"):
        parse_many([])


def test_names_of_plugins_are_asked_for_last() -> None:
    asked: list[str] = []

    def known(name: str) -> bool:
        asked.append(name)
        return name == "Weird_10"

    assert parse("nDCG@10", known=known) == parse("nDCG@10")
    assert asked == []
    measure = parse("Weird_10(a=2,b=0.5,c=True,d='x')@7", rel=2, known=known)
    assert measure == Measure("Weird_10", 7, 2, params=(("a", 2), ("b", 0.5), ("c", True), ("d", "x")))
    assert parse(str(measure), known=known) == measure
    assert looks_to(measure) == "whole list"
    assert not zero_without_gold(measure)
    with pytest.raises(MeasureError):
        parse("weird_11", known=known)


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    family = draw(st.sampled_from(FAMILIES))
    cutoff = draw(st.integers(1, 2**31 - 1)) if family.cutoff == REQUIRED else None
    if family.cutoff not in (NONE, REQUIRED):
        cutoff = draw(st.none() | st.integers(1, 2**31 - 1))
    params: dict[str, float | int | str | bool] = {}
    for name, param in family.params.items():
        if param.default is not None and not draw(st.booleans()):
            if param.shown:
                params[name] = param.default
            continue
        value: float | int | bool
        if param.type is bool:
            value = draw(st.booleans())
        elif param.type is int:
            value = draw(st.integers(int(param.low), 99))
        elif name == "recall":
            value = draw(st.integers(0, 100)) / 100
        else:
            high = min(param.high, 50.0)
            value = draw(st.floats(param.low, high, exclude_min=param.open, exclude_max=param.open))
        if value != param.default or param.shown:
            params[name] = value
    rel = draw(st.integers(1, 5)) if family.level else 1
    gain = draw(st.sampled_from(["linear", "exp"])) if family.name == "nDCG" else "linear"
    return Measure(family.name, cutoff, rel, gain, tuple(sorted(params.items())), draw(st.booleans()))


@given(measures(), st.integers(1, 3))
def test_what_is_printed_is_read_back(measure: Measure, rel: int) -> None:
    assert parse(str(measure)) == measure
    if measure.rel != 1 or not BY_NAME[measure.family].level:
        assert parse(str(measure), rel=rel) == measure


@given(
    st.text(max_size=20) | st.from_regex(r"[a-zA-Z_.]{1,9}[@_.]?-?[0-9.e]{0,4}(\([a-z=0-9,]{0,8}\))?", fullmatch=True)
)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        measure = parse(text)
    except MeasureError as refusal:
        assert str(refusal)  # noqa: PT017 - either outcome is right
    else:
        assert parse(str(measure)) == measure


def test_how_far_a_measure_looks() -> None:
    looks = {
        "nDCG@10": "cutoff", "nDCG": "last judged document", "bpref": "last judged document", "SetP": "whole list",
        "Compat": "whole list", "SetR": "last judged document", "P(judged_only=True)@5": "last judged document",
        "Accuracy@5": "cutoff", "Accuracy": "whole list",
    }  # fmt: skip
    assert {name: looks_to(parse(name)) for name in looks} == looks


def test_kernels_are_for_the_plain_ten() -> None:
    assert set(KERNEL_FAMILIES) <= set(BY_NAME)
    assert parse("RBP(p=0.3)").has_kernel
    assert not parse("P(judged_only=True)@5").has_kernel
    assert not parse("SetP").has_kernel
    assert all(zero_without_gold(Measure(name)) for name in KERNEL_FAMILIES)
    assert all(f.title and f.meaning.endswith(".") for f in FAMILIES)


def test_reading_a_measure_loads_no_library() -> None:
    code = "import sys, falsify_adapters.measures as m; m.parse('RBP'); print([n for n in sys.modules if n in %r])"
    heavy = ("ir_measures", "pytrec_eval", "ranx", "polars", "scipy", "pandas", "numpy")
    done = subprocess.run([sys.executable, "-c", code % (heavy,)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

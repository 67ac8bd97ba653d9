"""`floor` and `noise` on the command line: options, exit statuses, messages."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from made_floors import check1, good, report, row, small_pool, units_bug

from falsify_adapters import cli
from falsify_adapters.errors import InputError


class Report:
    """What the library returns, as far as the command line looks at it."""

    def __init__(self, made: dict[str, Any], failed: bool) -> None:
        self.made, self.failed = made, failed
        self.verdict = "FAIL" if failed else "PASS"

    def to_dict(self) -> dict[str, Any]:
        return self.made


class Library:
    """Stands in for check_floor: keeps what it was called with, returns or raises what it was told to."""

    def __init__(self) -> None:
        self.answer: dict[str, Any] | BaseException = report(good())
        self.failed = False
        self.given: tuple[Any, ...] = ()
        self.settings: dict[str, Any] = {}

    def floor(self, *given: Any, **settings: Any) -> Report:
        self.given, self.settings = given, settings
        if isinstance(self.answer, BaseException):
            raise self.answer
        return Report(self.answer, self.failed)

    def write_noise(self, *given: Any, **settings: Any) -> list[Path]:
        self.given, self.settings = given, settings
        return [Path(settings["output"]) / f"noise-seed{n}.run" for n in range(settings["seeds"])]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    fake = Library()
    for name, function in (("check_floor", fake.floor), ("noise_runs", fake.write_noise)):
        module = types.ModuleType(f"falsify_adapters.{name}")
        setattr(module, function.__name__, function)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return fake


@pytest.mark.parametrize(("failed", "status"), [(False, 0), (True, 1)])
def test_the_exit_status_is_1_where_a_check_fails(library: Library, failed: bool, status: int) -> None:
    library.failed = failed
    assert cli.run(["floor", "q"]) == status


def test_defaults_are_those_of_the_library(library: Library) -> None:
    cli.run(["floor", "q"])
    assert library.given == ("q", None)  # nDCG@10, or those that values are given for
    del library.settings["registry"]
    assert library.settings == {
        "pool": "observed",
        "depth": None,
        "max_docs": None,
        "noise": [],
        "measured": None,
        "measured_seeds": 1,
        "run": None,
        "score": None,
        "candidates": None,
        "simulate": None,
        "backend": "ir_measures",
        "min_signal": 2.0,
        "min_headroom": 0.5,
        "check_alpha": 0.01,
        "ties": "trec",
        "queries": "judged",
        "queries_file": None,
        "rel": 1,
        "duplicates": "error",
        "drop_self": False,
        "unit": None,
        "unit_sep": None,
        "unit_regex": None,
        "unit_map": None,
        "chunks": None,
        "input_format": None,
        "seed": 0,
        "progress": None,
    }


def test_options_are_handed_on(library: Library) -> None:
    line = (
        "floor q -m RR@10 --measure map --pool 218 --depth 7 --ties input --queries both --queries-file f -l 2 -M 100 "
        "--duplicates best --drop-self --seed 7 --unit-sep # --unit-regex (.+)-.* --unit-map m --chunks c --noise n1 "
        "--noise n2 --measured RR@10=0.02246 --measured map=.1 --measured-seeds 20 --run r --score RR@10=0.358 "
        "--candidates chunks=1052,files=218 --min-signal 3 --min-headroom 0 --check-alpha 0.05 --input-format trec"
    )
    assert cli.run(line.split()) == 0
    assert library.given == ("q", ["RR@10", "map"])
    wanted = {
        "pool": 218, "depth": 7, "ties": "input", "queries": "both", "queries_file": "f", "rel": 2, "max_docs": 100,
        "duplicates": "best", "drop_self": True, "seed": 7, "unit_sep": "#", "unit_regex": "(.+)-.*", "unit_map": "m",
        "chunks": "c", "noise": ["n1", "n2"], "measured": ["RR@10=0.02246", "map=.1"], "measured_seeds": 20, "run": "r",
        "score": ["RR@10=0.358"], "candidates": {"chunks": 1052, "files": 218}, "min_signal": 3.0, "min_headroom": 0.0,
        "check_alpha": 0.05, "input_format": "trec",
    }  # fmt: skip
    assert {name: library.settings[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--measured", "0.1"], "'0.1' names no measure and value. Legal: MEASURE=VALUE"),
        (["--measured", "=0.1"], "names no measure and value"),
        (["--measured", "RR@10=x"], "'x' is not a number. Legal: MEASURE=VALUE"),
        (["--measured", "RR@10=2.246"], "2.246 is out of range"),
        (["--measured", "RR@10=nan"], "nan is out of range"),
        (["--score", "RR@10=-1"], "'--score': -1 is out of range"),
        (["--candidates", "1052"], "'1052' names no unit and number. Legal: UNIT=N, as in chunks=1052,files=218"),
        (["--candidates", "a=1,b=0"], "'b=0' names no unit"),
        (["--candidates", "a=1,a=2"], "'a' is given twice"),
        (["--candidates", "a=1"], "no measured noise to hold the candidates against"),
        (["--measured-seeds", "20"], "there is no --measured that it belongs to"),
        (["--measured-seeds", "0"], "'--measured-seeds': 0 is out of range"),
        (["--min-signal", "-1"], "'--min-signal': -1 is out of range. Legal: a number from 0 up"),
        (["--min-signal", "inf"], "'--min-signal': inf is out of range"),
        (["--min-headroom", "1.5"], "'--min-headroom': 1.5 is out of range. Legal: a number from 0 to 1"),
        (["--check-alpha", "0"], "'--check-alpha': 0 is out of range"),
        (["--noise", "-", "--run", "-"], "standard input (-) can be read only once. Legal: one - among QRELS, --noise"),
        (
            ["--format", "trec_eval"],
            "--format: trec_eval has no form for the report of floor. Legal: table, json",
        ),
        (["--format", "pdf"], "there is no output format 'pdf'. Legal: csv, html"),
        (["-o", "x.pdf"], "the ending '.pdf' stands for no format. Legal: .txt, .json"),
    ],
)
def test_usage_errors_say_what_and_exit_2(
    library: Library, capsys: pytest.CaptureFixture[str], args: list[str], says: str
) -> None:
    assert cli.run(["floor", "q", *args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert library.given == ()


def test_an_error_of_the_library_is_one_message(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    library.answer = InputError("the id 'd' is odd", where="noise.run", line=7)
    assert cli.run(["floor", "q"]) == 2
    assert capsys.readouterr() == ("", "falsify-adapters: error: noise.run, line 7: the id 'd' is odd\n")


def test_the_table_and_json(library: Library, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    library.answer = made = report(good(), units_bug(), small_pool(), row(check1=check1(per_run=[0.1])))
    library.failed = True
    assert cli.run(["floor", "q"]) == 1
    assert capsys.readouterr().out.startswith("Noise floor: FAIL\n")
    assert cli.run(["floor", "q", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out) == made
    for name, starts in (("x.json", "{"), ("x.txt", "Noise floor: FAIL")):
        assert cli.run(["floor", "q", "-o", str(tmp_path / name)]) == 1
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(starts)
        assert capsys.readouterr() == ("", f"falsify-adapters: FAIL, report in {tmp_path / name}\n")
    assert cli.run(["floor", "q", "--quiet"]) == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("library")
def test_an_input_is_never_written_over(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    noise = tmp_path / "noise.txt"
    noise.write_text("q Q0 d 1 1 t\n", encoding="utf-8")
    assert cli.run(["floor", "q", "--noise", str(noise), "-o", str(noise)]) == 2
    assert "this is one of the inputs" in capsys.readouterr().err


def test_noise_hands_on_its_options_and_lists_what_it_wrote(
    library: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "noise q --pool ids --depth 7 --seeds 2 --seed 3 --queries-file f -o out"
    assert cli.run(line.split()) == 0
    assert library.given == ("q",)
    assert library.settings == {
        "pool": "ids", "chunks": None, "depth": 7, "seeds": 2, "seed": 3, "output": "out", "queries_file": "f",
    }  # fmt: skip
    assert capsys.readouterr().out == "out/noise-seed0.run\nout/noise-seed1.run\n"
    assert cli.run(["noise", "q", "--chunks", "c", "--quiet"]) == 0
    assert library.settings == {
        "pool": None, "chunks": "c", "depth": 1000, "seeds": 5, "seed": 0, "output": ".", "queries_file": None,
    }  # fmt: skip
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("alpha", ["0.9999", "1", "-1", "nan", "0.51"])
def test_the_level_of_the_checks_is_at_most_one_half(
    library: Library, capsys: pytest.CaptureFixture[str], alpha: str
) -> None:
    assert cli.run(["floor", "q", "--check-alpha", alpha]) == 2
    assert f"{alpha} is out of range. Legal: a number from 1e-06 to 0.5" in capsys.readouterr().err
    assert library.given == ()


@pytest.mark.parametrize("option", ["--pool", "--chunks"])
@pytest.mark.parametrize(
    "pool", ["3204", "1e6", "1,000", "observed", "run", "candidates:c.txt", "ir_datasets:cranfield"]
)
def test_noise_takes_ids_and_says_so(
    qrels: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str, pool: str
) -> None:
    assert cli.run(["noise", qrels, option, pool, "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert f"{option}: " in said
    assert "Legal: a file of ids, one a line or JSON Lines. Write the ids" in said
    assert "observed, run" not in said
    assert not (tmp_path / "out").exists()


def test_a_file_may_have_a_number_for_a_name(
    qrels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("3204").write_text("a\nb\n", encoding="utf-8")
    assert cli.run(["noise", qrels, "--pool", "3204", "--seeds", "1"]) == 0
    assert capsys.readouterr().out.endswith("noise-seed0.run\n")


@pytest.mark.parametrize("more", [[], ["--measured", "RR@10=0.02"]])
def test_lists_as_pools_need_lists(qrels: str, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    assert cli.run(["floor", qrels, "--pool", "run", *more]) == 2
    assert "there is no run. Legal: a number, observed, candidates:FILE" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--measured", "--score"])
@pytest.mark.parametrize("again", ["RR@10=0.02", "MRR@10=0.03", "rr@10=0.02"])
def test_a_measure_is_given_once(qrels: str, capsys: pytest.CaptureFixture[str], option: str, again: str) -> None:
    assert cli.run(["floor", qrels, "--pool", "90", option, "RR@10=0.02", option, again]) == 2
    assert f"{option}: RR@10 is given twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "open_by"),
    [
        *(("0.01", 0.005), ("1e-2", 0.005), ("1E-02", 0.005), (".01", 0.005), ("0.010", 0.0005), ("10e-3", 0.0005)),
        ("0.0100", 0.00005),
        *(("0.0", 0.05), ("1.0", 0.05), ("0", 0.0), ("1", 0.0), ("1.", 0.0)),
    ],
)
def test_what_a_typed_value_leaves_open(
    qrels: str, capsys: pytest.CaptureFixture[str], value: str, open_by: float
) -> None:
    cli.run(["floor", qrels, "--pool", "90", "--measured", f"RR@10={value}", "--format", "json"])
    check = json.loads(capsys.readouterr().out)["results"][0]["check1"]
    assert check["measured"] == float(value)
    assert check["rounding"] == pytest.approx(open_by)
    cli.run(["floor", qrels, "--pool", "90", "--measured", f"RR@10={value}"])
    assert ("as typed" in capsys.readouterr().out) == (open_by > 0.01 * 0.0326)  # 1 % of the floor


@pytest.fixture
def qrels(tmp_path: Path) -> str:
    """28 queries, one gold document each."""
    path = tmp_path / "qrels.txt"
    path.write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(28)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("options", "measures"),
    [
        ("", ["nDCG@10"]),
        ("-m map -m RR@10", ["AP", "RR@10"]),
        ("--measured mrr@10=0.013", ["RR@10"]),
        ("--measured AP(rel=1)@100=0.03 --score RR@10=0.3", ["AP@100", "RR@10"]),
        ("--score AP(rel=1)@50=0.3", ["AP@50"]),
    ],
)
def test_the_measures_are_those_that_values_are_given_for(
    qrels: str, capsys: pytest.CaptureFixture[str], options: str, measures: list[str]
) -> None:
    cli.run(["floor", qrels, "--pool", "218", "--format", "json", *options.split()])
    assert [row["measure"] for row in json.loads(capsys.readouterr().out)["results"]] == measures


@pytest.mark.parametrize(
    ("options", "verdict", "status"),
    [
        ("--pool 218 --measured RR@10=0.0134 --measured-seeds 20", "pass", 0),
        ("--pool 1052 --measured RR@10=0.0134 --measured-seeds 20", "above", 1),
        ("--pool 28 --measured RR@10=0.0134 --measured-seeds 20", "below", 1),
        ("--pool 28 --measured RR@10=0 --measured-seeds 20", "below", 1),
        ("--pool 218 --measured RR@10=1", "above", 1),
    ],
)
def test_from_a_file_to_a_verdict(
    qrels: str, capsys: pytest.CaptureFixture[str], options: str, verdict: str, status: int
) -> None:
    assert cli.run(["floor", qrels, *options.split()]) == status
    assert f"Check 1, is the noise where probability puts it? {verdict}" in capsys.readouterr().out


def test_noise_runs_of_ones_own_ids_pass(qrels: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("".join(f"d{i}\n" for i in range(218)), encoding="utf-8")
    assert cli.run(["noise", qrels, "--pool", str(ids), "-o", str(tmp_path / "runs")]) == 0
    runs = capsys.readouterr().out.split()
    assert len(runs) == 5
    noise = [part for run in runs for part in ("--noise", run)]
    assert cli.run(["floor", qrels, "-m", "RR@10", "--pool", str(ids), *noise]) == 0
    assert "the most of 10 pairs" in capsys.readouterr().out

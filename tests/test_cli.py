"""The command line: exit statuses, messages, streams. What it computes is tested elsewhere."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_reports import cheat, good, report, small

from falsify_adapters import __version__, cli, cli_common
from falsify_adapters.errors import InputError, MissingInputError


class Report:
    """What the gate returns, as far as the command line looks at it."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.made = made
        verdicts = [result["verdict"] for result in made["results"]]
        self.verdict = next((v for v in ("FAIL", "UNDER-NS") if v in verdicts), "PASS")

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:  # noqa: ARG002
        return self.made

    def save_per_query(self, path: str) -> None:
        Path(path).write_text("run,measure,query\n", encoding="utf-8")


class Gate:
    """Stands in for check.gate: keeps what it was called with, returns or raises what it was told to."""

    def __init__(self) -> None:
        self.answer: dict[str, Any] | BaseException = report(good())
        self.given: tuple[Any, ...] = ()
        self.settings: dict[str, Any] = {}

    def __call__(self, *given: Any, **settings: Any) -> Report:
        self.given, self.settings = given, settings
        if isinstance(self.answer, BaseException):
            raise self.answer
        return Report(self.answer)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    fake, module = Gate(), types.ModuleType("falsify_adapters.check")
    module.gate = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "falsify_adapters.check", module)
    return fake


def run_program(*args: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "falsify_adapters", *args], capture_output=True, text=True, **more)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (report(good()), 0),
        (report(good(), cheat()), 1),
        (report(small(), cheat()), 1),
        (report(good(), small()), 3),
    ],
)
def test_the_exit_status_is_the_verdict(gate: Gate, made: dict[str, Any], status: int) -> None:
    gate.answer = made
    assert cli.run(["gate", "q", "r"]) == status


def test_defaults_are_those_of_the_library(gate: Gate) -> None:
    cli.run(["gate", "q", "r1", "r2"])
    assert gate.given == ("q", ["r1", "r2"], ["nDCG@10"])
    del gate.settings["registry"]
    assert gate.settings == {
        "backend": "ir_measures",
        "pool": "observed",
        "depth": None,
        "unit": None,
        "unit_sep": None,
        "unit_regex": None,
        "unit_map": None,
        "chunks": None,
        "ties": "trec",
        "queries": "judged",
        "queries_file": None,
        "rel": 1,
        "max_docs": None,
        "duplicates": "error",
        "drop_self": False,
        "clusters": None,
        "tau": 0.05,
        "alpha": 0.05,
        "n_boot": 1000,
        "seed": 0,
        "null_d": "documents",
        "extra_nulls": (),
        "input_format": None,
        "jobs": 1,
        "progress": None,
    }


def test_options_are_handed_on(gate: Gate) -> None:
    line = (
        "gate q r -m RR@10 --measure map --backend ranx --pool 218 --depth 7 --ties input --queries both "
        "--queries-file f -l 2 -M 100 --duplicates best --drop-self --tau .1 --alpha 0.01 --n-boot 500 "
        "--seed 7 --null-d sets --jobs 2 --unit-sep # --unit-regex (.+)-.* --unit-map m --chunks c"
    )
    assert cli.run(line.split()) == 0
    assert gate.given[2] == ["RR@10", "map"]
    wanted = {
        "backend": "ranx", "pool": 218, "depth": 7, "ties": "input", "queries": "both", "queries_file": "f", "rel": 2,
        "max_docs": 100, "duplicates": "best", "drop_self": True, "tau": 0.1, "alpha": 0.01, "n_boot": 500, "seed": 7,
        "null_d": "sets", "jobs": 2, "unit_sep": "#", "unit_regex": "(.+)-.*", "unit_map": "m", "chunks": "c",
    }  # fmt: skip
    assert {name: gate.settings[name] for name in wanted} == wanted


@pytest.mark.parametrize("pool", ["observed", "run", "ids.txt", "candidates:pool.tsv"])
def test_a_pool_that_is_no_number_is_handed_on_as_text(gate: Gate, pool: str) -> None:
    cli.run(["gate", "q", "r", "--pool", pool])
    assert gate.settings["pool"] == pool


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["gate", "q", "r", "--tau", "0"], "'--tau': 0 is out of range. Legal: a number above 0 and below 1"),
        (["gate", "q", "r", "--tau", "nan"], "'--tau': nan is out of range"),
        (["gate", "q", "r", "--tau", "x"], "'x' is not a number"),
        (["gate", "q", "r", "--alpha", "1"], "'--alpha': 1 is out of range"),
        (["gate", "q", "r", "--n-boot", "99"], "'--n-boot': 99 is out of range. Legal: a whole number, 100 or more"),
        (["gate", "q", "r", "--jobs", "0"], "'--jobs': 0 is out of range"),
        (["gate", "q", "r", "--depth", "0"], "'--depth': 0 is out of range"),
        (["gate", "q", "r", "--depth", "1.5"], "'1.5' is not a whole number"),
        (["gate", "q", "r", "--seed", "-1"], "'--seed': -1 is out of range"),
        (["gate", "q", "r", "-l", "0"], "'--level': 0 is out of range"),
        (["gate", "q", "r", "--pool", "0"], "0 documents are no pool"),
        (["gate", "q", "r", "--pool", ""], "the pool is empty text"),
        (["gate", "q", "r", "--ties", "random"], "'random' is not one of 'trec', 'input', 'expected'"),
        (
            ["gate", "q", "r", "--format", "pdf"],
            "there is no output format 'pdf'. Legal: csv, html, json, jsonl, junit, latex, markdown, table, trec_eval",
        ),
        (["gate", "q", "r", "-o", "x.pdf"], "-o x.pdf: the ending '.pdf' stands for no format. Legal: .txt, .json"),
        (["gate", "q", "r", "-o", "report"], "no ending to tell the format"),
        (["gate", "q", "r", "-o", "no-such-folder/x.json"], "there is no folder 'no-such-folder'"),
        (["gate", "-", "-"], "standard input (-) can be read only once"),
        (["gate", "q"], "Missing argument"),
        (["gate", "q", "r", "--bogus"], "No such option"),
        (
            ["gat", "q", "r"],
            "there is no command 'gat'. Legal: audit, compare, demo, floor, gate, measures, noise, plugins, power. Did "
            "you mean 'gate'?",
        ),
        (["measures", "no-such-measure"], "'no-such-measure' is no known measure"),
    ],
)
def test_usage_errors_say_what_and_exit_2(
    gate: Gate, capsys: pytest.CaptureFixture[str], args: list[str], says: str
) -> None:
    assert cli.run(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("falsify-adapters: error: ")
    assert says in err
    assert "Traceback" not in err
    assert gate.given == ()


def test_a_usage_error_points_at_the_help_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(["gate", "q", "r", "--tau", "2"])
    assert capsys.readouterr().err.endswith("\nTry 'falsify-adapters gate --help'.\n")


@pytest.mark.parametrize(
    "error",
    [
        InputError("the score 'x' is no number", where="r.run", line=7, mend="Correct the line."),
        MissingInputError("there is no such file", where="r.run"),
    ],
)
def test_errors_raised_on_purpose_are_one_message(
    gate: Gate, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    gate.answer = error
    assert cli.run(["gate", "q", "r"]) == 2
    assert capsys.readouterr() == ("", f"falsify-adapters: error: {error}\n")


def test_messages_show_control_characters_of_files(gate: Gate, capsys: pytest.CaptureFixture[str]) -> None:
    gate.answer = InputError("the id 'd\x1b[2J' is odd")
    cli.run(["gate", "q", "r"])
    assert r"d\x1b[2J" in capsys.readouterr().err


def test_a_fault_of_ours_is_4_with_the_traceback_on_demand(
    gate: Gate, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.answer = ZeroDivisionError("division\nby zero")
    monkeypatch.delenv(cli.TRACEBACK, raising=False)
    assert cli.run(["gate", "q", "r"]) == 4
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "ZeroDivisionError: division by zero" in err
    assert cli.TRACEBACK in err
    monkeypatch.setenv(cli.TRACEBACK, "1")
    assert cli.run(["gate", "q", "r"]) == 4
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupt_is_130(gate: Gate) -> None:
    gate.answer = KeyboardInterrupt()
    assert cli.run(["gate", "q", "r"]) == 130


def test_json_goes_to_standard_output_unrounded(gate: Gate, capsys: pytest.CaptureFixture[str]) -> None:
    gate.answer = made = report(good(run="λ"))
    assert cli.run(["gate", "q", "r", "--format", "json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out) == made
    assert out.isascii()
    assert out.endswith("}\n")


def test_quiet_prints_nothing(gate: Gate, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    gate.answer = report(cheat())
    assert cli.run(["gate", "q", "r", "--quiet"]) == 1
    assert cli.run(["gate", "q", "r", "--quiet", "-o", str(tmp_path / "x.json")]) == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "starts"), [("x.json", "{"), ("x.JSON", "{"), ("x.txt", "Four-null gate: FAIL"), ("x.table", "Four")]
)
def test_the_ending_names_the_format(
    gate: Gate, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, starts: str
) -> None:
    gate.answer = report(cheat())
    target = tmp_path / name
    assert cli.run(["gate", "q", "r", "-o", str(target)]) == 1
    assert target.read_text(encoding="utf-8").startswith(starts)
    assert names_in(tmp_path) == [name]
    assert capsys.readouterr() == ("", f"falsify-adapters: FAIL, report in {target}\n")


@pytest.mark.usefixtures("gate")
def test_per_query_rows_are_the_reports_own(tmp_path: Path) -> None:
    target = tmp_path / "queries.csv"
    assert cli.run(["gate", "q", "r", "--per-query", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == "run,measure,query\n"


@pytest.mark.usefixtures("gate")
def test_an_input_is_never_written_over(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q 0 d 1\n", encoding="utf-8")
    assert cli.run(["gate", str(qrels), "r", "-o", str(qrels)]) == 2
    assert f"{qrels}: this is one of the inputs" in capsys.readouterr().err
    assert qrels.read_text(encoding="utf-8") == "q 0 d 1\n"


def test_writing_keeps_links_and_modes_and_leaves_nothing_behind(tmp_path: Path) -> None:
    target, link = tmp_path / "x.json", tmp_path / "link.json"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link.symlink_to(target)
    cli_common.write_file(str(link), "new\n")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert names_in(tmp_path) == ["link.json", "x.json"]


@pytest.mark.usefixtures("gate")
def test_a_write_that_fails_names_the_path_and_keeps_the_old_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Path) -> Path:
        raise OSError(28, "No space left on device")

    target = tmp_path / "x.json"
    target.write_text("old", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", full)
    assert cli.run(["gate", "q", "r", "-o", str(target)]) == 2
    assert f"{target}: cannot be written: No space left on device" in capsys.readouterr().err
    assert target.read_text(encoding="utf-8") == "old"
    assert names_in(tmp_path) == ["x.json"]


def test_devices_are_written_to_and_not_replaced() -> None:
    cli_common.write_file(os.devnull, "text")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


class Terminal:
    def __init__(self, encoding: str | None = "utf-8", tty: bool = True) -> None:
        self.encoding, self.tty, self.text = encoding, tty, ""

    def isatty(self) -> bool:
        return self.tty

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...


@pytest.mark.parametrize(
    ("stream", "env", "color"),
    [
        (Terminal(), {}, True),
        (Terminal(tty=False), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
    ],
)
def test_colours(monkeypatch: pytest.MonkeyPatch, stream: Any, env: dict[str, str], color: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert cli_common.use_color(stream) is color


@pytest.mark.parametrize(
    ("encoding", "term", "ascii_only"),
    [
        ("utf-8", "xterm", False),
        ("UTF8", "xterm", False),
        ("latin-1", "xterm", True),
        ("utf-8", "dumb", True),
        (None, "xterm", True),
    ],
)
def test_ascii_where_the_terminal_shows_nothing_else(
    monkeypatch: pytest.MonkeyPatch, encoding: str | None, term: str, ascii_only: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    assert cli_common.ascii_only(Terminal(encoding)) is ascii_only  # type: ignore[arg-type]


def test_progress_is_for_terminals_and_cleans_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    off: list[Callable[..., None] | None] = [
        cli_common.progress_on(Terminal(tty=False), wanted=True),  # type: ignore[arg-type]
        cli_common.progress_on(Terminal(), wanted=False),  # type: ignore[arg-type]
    ]
    assert off == [None, None]
    terminal = Terminal()
    show = cli_common.progress_on(terminal, wanted=True)  # type: ignore[arg-type]
    assert show is not None
    show("reading", 1, 3)
    show("reading", 2, 3)  # too soon after the first to be worth a line
    show("reading", 3, 3)
    assert terminal.text == "\r\x1b[Kreading 1/3\r\x1b[K"


def test_progress_says_how_fast_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    times = iter([100.0, 102.0, 104.0, 104.05, 110.0])
    monkeypatch.setattr(cli_common.time, "monotonic", lambda: next(times))
    terminal = Terminal()
    show = cli_common.progress_on(terminal, wanted=True, unit="files")  # type: ignore[arg-type]
    assert show is not None
    for done in (400, 600, 2400, 2500, 500_000):  # 400 were there before
        show("auditing", done, 500_000)
    assert terminal.text.split("\r\x1b[K") == [
        "", "auditing 400/500000 files", "auditing 600/500000 files, 100 a second, 1 h 23 min left",
        "auditing 2400/500000 files, 500 a second, 16 min 35 s left", "",
    ]  # fmt: skip


def test_a_reader_that_leaves_early_changes_nothing() -> None:
    code = (
        "import sys, types; from falsify_adapters import cli_common\n"
        "for _ in range(3): cli_common.emit('x' * 200_000)\n"
        "sys.exit(3)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 3


def test_version_and_help() -> None:
    version = run_program("--version")
    assert (version.returncode, version.stdout) == (0, f"falsify-adapters, version {__version__}\n")
    shown = run_program("--help")
    assert shown.returncode == 0
    for command in ("demo", "floor", "gate", "measures", "noise", "plugins"):
        assert f"\n  {command} " in shown.stdout
    assert run_program("gate", "-h").returncode == 0


def test_measures_lists_families_and_backends(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["measures"]) == 0
    out = capsys.readouterr().out
    head = out.splitlines()[0].split()
    assert head[0] == "measure"
    assert {"builtin", "ir_measures", "pytrec_eval", "ranx"} <= set(head)
    assert "nDCG nDCG@10" in out
    assert cli.run(["measures", "--format", "json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert listing["schema"] == "falsify-adapters.measures/1"
    by_name = {entry["name"]: entry for entry in listing["measures"]}
    assert by_name["nDCG"]["backends"]["builtin"] == {"nDCG": None, "nDCG@10": None}
    assert by_name["ERR"]["backends"]["pytrec_eval"]["ERR@10"]


def test_one_measure_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["measures", "mrr_at_10"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("RR@10: Reciprocal rank\n")
    assert "builtin: computes it" in out
    assert cli.run(["measures", "ERR@20", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["backends"]["builtin"] is None


def test_plugins_lists_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plugins"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"falsify-adapters {__version__} (plugin builtins")
    assert "commands: audit, compare, demo, floor, gate, measures, noise, plugins, power" in out
    assert cli.run(["plugins", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "falsify-adapters.plugins/1"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A qrels and a run of 30 queries, one gold document each, always at rank 1."""
    qrels = "".join(f"q{i} 0 d{i} 1\n" for i in range(30))
    run = "".join(f"q{i} Q0 d{i} 1 2.5 made\nq{i} Q0 d{(i + 1) % 30} 2 1.5 made\n" for i in range(30))
    (tmp_path / "qrels.txt").write_text(qrels, encoding="utf-8")
    (tmp_path / "run.txt").write_text(run, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LINE = ["gate", "qrels.txt", "run.txt", "-m", "RR@10", "--pool", "1000", "--backend", "builtin"]


@pytest.mark.usefixtures("files")
def test_from_files_to_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(LINE) == 0
    assert capsys.readouterr().out.startswith("Four-null gate: PASS\n")
    assert cli.run([*LINE, "--format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "falsify-adapters.gate/1"
    result = made["results"][0]
    assert result["score"] == 1.0
    assert result["nulls"]["A"]["mean"] == pytest.approx(1.5 / 30)
    assert result["nulls"]["C"]["mean"] == pytest.approx(1.5 / 1000)


def test_the_same_input_gives_the_same_bytes(files: Path) -> None:
    outputs = {
        run_program(*LINE, "--format", "json", cwd=files, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_standard_input(files: Path) -> None:
    run = (files / "run.txt").read_text(encoding="utf-8")
    done = run_program(*["-" if arg == "run.txt" else arg for arg in LINE], cwd=files, input=run)
    assert done.returncode == 0
    assert done.stdout.startswith("Four-null gate: PASS\n")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"run.txt": "no-such-file"}, "no-such-file"),
        ({"builtin": "no-such-backend"}, "no-such-backend"),
        ({"RR@10": "numq"}, "has no gate"),
        ({"1000": "7"}, "a pool of 7 documents is too small"),
        ({"1000": "no-such-pool"}, "no-such-pool"),
    ],
)
@pytest.mark.usefixtures("files")
def test_bad_input_is_one_message_and_2(capsys: pytest.CaptureFixture[str], change: dict[str, str], says: str) -> None:
    assert cli.run([change.get(arg, arg) for arg in LINE]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1
    assert len(err) < 1000


@pytest.mark.usefixtures("files")
def test_a_line_that_is_wrong_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("run.txt").read_text(encoding="utf-8").replace("q3 Q0 d3 1 2.5 made", "q3 Q0 d3 1 high made")
    Path("run.txt").write_text(text, encoding="utf-8")
    assert cli.run(LINE) == 2
    assert "run.txt, line 7: " in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_per_query_rows_from_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*LINE, "--per-query", "queries.csv", "--quiet"]) == 0
    lines = Path("queries.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("run,measure,query")
    assert len(lines) == 31
    assert capsys.readouterr().out == ""


def test_one_run_writes_several_reports(
    gate: Gate, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gate.answer = report(cheat())
    assert cli.run(["gate", "q", "r", "-o", "a.json", "-o", "a.md", "-o", "a.csv"]) == 1
    assert names_in(tmp_path) == ["a.csv", "a.json", "a.md"]
    assert Path("a.md").read_text(encoding="utf-8").startswith("### Four-null gate: FAIL\n")
    assert capsys.readouterr().err == "falsify-adapters: FAIL, report in a.json, a.md, a.csv\n"
    for line in ("gate q r -o b.json -o b.json", "gate q r -o b.json -o -", "gate q r -o - -o -"):
        assert cli.run(line.split()) == 2
        assert "each report needs a file of its own" in capsys.readouterr().err
    assert names_in(tmp_path) == ["a.csv", "a.json", "a.md"]
    assert cli.run(["gate", "q", "r", "-o", "a.csv", "-o", "a.html", "--format", "json"]) == 2
    assert "one format for several files" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compare q r s", "floor q", "power q", "audit mteb p", "audit beir p --run r"])
def test_elsewhere_one_file_is_written_and_a_second_is_no_silent_loss(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert cli.run([*command.split(), "-o", "a.csv", "-o", "a.html"]) == 2
    assert "a.csv, a.html: one file at a time here" in capsys.readouterr().err

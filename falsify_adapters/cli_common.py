"""What the commands share: exit statuses, checks of files, progress and output. Options: cli_options."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from falsify_adapters.errors import OptionError
from falsify_adapters.report.saving import fitting, format_of

if TYPE_CHECKING:
    from rich.text import Text

    from falsify_adapters.offers import Format
    from falsify_adapters.registry import Registry

PROGRAM = "falsify-adapters"

EXIT_PASS = 0
EXIT_FAIL = 1
EXIT_USAGE = 2  # bad input or usage; also FalsifyError.exit_code
EXIT_UNDER_NS = 3
EXIT_FAULT = 4  # a fault of ours
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
EXIT_OF_VERDICT = {"PASS": EXIT_PASS, "FAIL": EXIT_FAIL, "UNDER-NS": EXIT_UNDER_NS}

WIDTH_OF_A_PIPE = 80

Progress = Callable[[str, int, int], None]


def output_format(chosen: str | None, path: str | None, known: Sequence[str]) -> str:
    """The format asked for, else the one that the file's ending stands for, else the table. Raises OptionError."""
    if chosen is not None:
        return chosen
    if path is None or path == "-":
        return "table"
    return format_of(path, known, where=f"-o {path}", mend="Or name the format with --format.")


def writer_of(registry: Registry, kind: str, chosen: str | None, path: str | None) -> tuple[str, Format]:
    """The format of a kind of report, by its name or by the file's ending, and what writes it. Raises OptionError."""
    known = fitting(kind, registry.names("formats"))
    form = output_format(chosen, path, known)
    write = registry.resolve("formats", form)
    if form not in known:
        raise OptionError(f"{form} has no form for the report of {kind}", where="--format", legal=", ".join(known))
    return form, write


def check_output(path: str | None, inputs: Iterable[str]) -> None:
    """Refuse, before any work is done, a file that could not be written or that is one of the inputs.

    Raises OptionError.
    """
    if path is None or path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise OptionError("this is a folder", where=path, mend="Give the name of a file in it.")
    if not target.parent.is_dir():
        raise OptionError(f"there is no folder {str(target.parent)!r}", where=path, mend="Create it first.")
    for given in inputs:
        with suppress(OSError):
            if given != "-" and target.samefile(given):
                raise OptionError(
                    "this is one of the inputs, and writing would destroy it", where=path, mend="Give another name."
                )


def write_file(path: str, text: str) -> None:
    """Write the whole text or nothing: into a new file beside the target, then moved over it. Raises OptionError."""
    target = Path(path)
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            target.write_text(text, encoding="utf-8")  # a device or a pipe cannot be moved over
            return
        target = target.resolve()  # through a link, so that the link stays
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(name).chmod(mode)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OptionError(f"cannot be written: {error.strerror or error}", where=path) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def emit(text: str) -> None:
    """Write to standard output. A reader that has left (`| head`) is no error of ours: the exit status still counts."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OptionError(f"cannot be written: {error.strerror or error}", where="standard output") from None


def show_lines(lines: Sequence[str | Text]) -> None:
    """Print lines, each left whole: in colour on a terminal, in ASCII where it can show nothing else."""
    from falsify_adapters.report.safe import to_ascii, visible
    from falsify_adapters.report.tables import printed

    plain = ascii_only(sys.stdout)
    safe = [visible(line) if isinstance(line, str) else line for line in lines]
    text = printed(safe, color=use_color(sys.stdout))
    emit("\x1b".join(to_ascii(part) for part in text.split("\x1b")) if plain else text)


def emit_table(report: Mapping[str, Any], **more: Any) -> None:
    """Print a report as text, as standard output can show it. more: of `render`."""
    from falsify_adapters.report.render import render

    width = shutil.get_terminal_size((WIDTH_OF_A_PIPE, 24)).columns if sys.stdout.isatty() else WIDTH_OF_A_PIPE
    color, plain = use_color(sys.stdout), ascii_only(sys.stdout)
    emit(render(report, width=width, color=color, ascii_only=plain, **more))


def check_inputs(inputs: Sequence[str], names: str) -> None:
    """Refuse standard input given twice. Raises OptionError."""
    if inputs.count("-") > 1:
        raise OptionError("standard input (-) can be read only once", legal=f"one - among {names}")


def complain(message: str, *, kind: str = "error: ") -> None:
    """A message on standard error, in the program's name. Control characters from files come as escapes."""
    from falsify_adapters.report.safe import visible

    first, *rest = (visible(line, ascii_only=ascii_only(sys.stderr)) for line in message.split("\n"))
    click.echo("\n".join([f"{PROGRAM}: {kind}{first}", *rest]), err=True)


def ascii_only(stream: IO[str]) -> bool:
    """Whether the stream shows nothing beyond ASCII: another encoding than UTF-8, or a dumb terminal."""
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "")
    return not encoding.startswith("utf") or os.environ.get("TERM") == "dumb"


def use_color(stream: IO[str]) -> bool:
    """Colours on a terminal only, and neither with NO_COLOR (https://no-color.org) nor on a dumb terminal."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def progress_on(stream: IO[str], *, wanted: bool, unit: str = "") -> Progress | None:
    """A line on a terminal that says how far each stage is, at most ten times a second; None on anything else.

    unit: what is counted, in the plural; with it the line also says how many are done a second and how long the rest
    will take, by what was done since the stage began.
    """
    if not wanted or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None
    last, shown, begun, ready = 0.0, "", 0.0, 0

    def show(stage: str, done: int, total: int) -> None:
        nonlocal last, shown, begun, ready
        now = time.monotonic()
        if stage != shown:
            begun, ready = now, done
        elif done < total and now - last < 0.1:
            return
        last, shown = now, stage
        line = f"{stage} {done}/{total}"
        if unit:
            line += f" {unit}"
            if done > ready and now > begun:
                rate = (done - ready) / (now - begun)
                line += f", {rate:{',.0f' if rate >= 10 else '.1g'}} a second, {_span((total - done) / rate)} left"
        stream.write("\r\x1b[K" if done >= total else f"\r\x1b[K{line}")
        stream.flush()

    return show


def _span(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60:02} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02} min"

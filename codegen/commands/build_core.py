"""`build` in the checkout: compiles the native core, as far as something has changed.

CMake works in `build/native` of the checkout, or in `build/native` below another output folder.  The module goes into
the output folder, where the runtime looks for it.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codegen import extension
from codegen.commands import toolchain
from codegen.commands.process import ERRORS, OK
from codegen.commands.toolchain import MissingError, Toolchain
from codegen.paths import PLACES, Paths, project_paths
from codegen.words import CPP
from codegen.writing import text_of, write_text

# What CMake calls the module in its own folder; `codegen.extension` says what it is called where it is loaded from.
_BUILT = "_native.so"
# The arguments that the folder was configured with.
_RECORD = "configured.json"
# `[3/24] Building ...` of Ninja, `[ 12%] Building ...` of make.
_STEP = re.compile(r"\[\s*(?P<done>\d+)(?:/(?P<total>\d+)|%)\] ")

Report = Callable[[int, int], None]


class BuildError(Exception):
    """CMake or the compiler failed.  `output` is what they printed."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


class ConfigureError(BuildError):
    """CMake does not get along with the machine: its compiler, its Python, its own version."""


def build_core(paths: Paths, sanitize: str | None = None, optional: bool = False) -> int:
    """Build the native core of the generated code in `paths.output`, and say on standard output what was done.

    Args:
        paths: Where things lie; the output is that of a generation which has just been run.
        sanitize: Build into a folder of its own, with AddressSanitizer and UndefinedBehaviorSanitizer ("address", in
            `build/sanitize`) or with ThreadSanitizer ("thread", in `build/sanitize-thread`).
        optional: Where this machine can not build an extension at all, that is no error.

    Returns:
        The exit status: 0, or 1 with the reason on standard error.
    """
    started = time.time()
    try:
        tools = _toolchain(paths)
        folder = _folder(paths, sanitize)
        name = extension.file_name(paths.output, paths.root)
        assert name is not None, "a generation leaves a manifest"
        _configure(paths, tools, folder, sanitize)
        steps = _compile(tools, folder, Places.of(paths))
        place = (folder if sanitize else paths.output) / name
        put(folder / _BUILT, place, started)
    except MissingError as error:
        if optional:
            print(f"native core: not built, which only makes things slower: {error}")
            return OK
        print(f"error: the native core can not be built: {error}", file=sys.stderr)
        return ERRORS
    except BuildError as error:
        if optional and isinstance(error, ConfigureError):
            print(f"native core: not built, which only makes things slower: {error} (see {extension.COMMAND})")
            return OK
        print(error.output, end="" if error.output.endswith("\n") else "\n", file=sys.stderr)
        print(f"error: {error}", file=sys.stderr)
        return ERRORS
    done = f"{steps} steps in {time.time() - started:.1f} s" if steps else "nothing to do"
    print(f"native core: {done}: {paths.shown(place)}")
    return OK


def _toolchain(paths: Paths) -> Toolchain:
    if not extension.core_files(paths.root):
        raise MissingError("its sources are not there; it is built from a checkout, or by pip when it installs")
    return toolchain.find()


def _folder(paths: Paths, sanitize: str | None) -> Path:
    own = paths.output.resolve() == project_paths().output
    base = paths.root / "build" if own else paths.output.resolve() / "build"
    return base / {None: "native", "address": "sanitize"}.get(sanitize, f"sanitize-{sanitize}")


def _configure(paths: Paths, tools: Toolchain, folder: Path, sanitize: str | None) -> None:
    """Run CMake where the folder is new or was configured otherwise; for all else it looks after itself."""
    import numpy

    arguments = [
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DPython_NumPy_INCLUDE_DIR={numpy.get_include()}",
        f"-DGRADWRIGHT_OUTPUT={paths.output.resolve()}",
        f"-DGRADWRIGHT_MODULE={_BUILT}",
        f"-DSANITIZE={sanitize or 'OFF'}",
        *(["-GNinja", f"-DCMAKE_MAKE_PROGRAM={tools.ninja}"] if tools.ninja else ["-GUnix Makefiles"]),
    ]
    record = json.dumps([tools.cmake, tools.compiler, os.environ.get("CXXFLAGS", ""), sys.version, *arguments])
    if text_of(folder / _RECORD) == record:
        return
    shutil.rmtree(folder, ignore_errors=True)  # CMake keeps what it has once found, such as another Python
    folder.mkdir(parents=True)
    environment = {**os.environ, "CXX": tools.compiler}
    command = [tools.cmake, "-S", str(paths.root), "-B", str(folder), *arguments]
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if finished.returncode != 0:
        raise ConfigureError("CMake can not configure the native core", finished.stdout)
    write_text(folder / _RECORD, record)


@dataclass(frozen=True, slots=True)
class Places:
    """Where formulas stand in the YAML. Generated C++ names them by their Nodes, so that it does not change with the
    lines above them.
    """

    lines: Mapping[str, tuple[str, int]]  # the file and the line of a Node's first formula

    @classmethod
    def of(cls, paths: Paths) -> Places:
        """Those of the C++ that was generated."""
        text = text_of(paths.for_target(CPP).output / PLACES)
        return cls(json.loads(text) if text is not None else {})

    def put(self, said: str) -> str:
        """What a compiler said, with the files and lines of the YAML."""

        def place(match: re.Match[str]) -> str:
            file, first = self.lines.get(match["place"], (None, 0))
            if file is None:
                return match[0]
            return file if match["line"] is None else f"{file}:{first + int(match['line']) - 1}"

        return _PLACE.sub(place, said)


_PLACE = re.compile(r"(?P<place>[^\s:]+\.yaml#\w+)(?::(?P<line>\d+))?")


def _compile(tools: Toolchain, folder: Path, places: Places) -> int:
    """Run what is to be run, and give the number of steps that were; compiler warnings go to standard error."""
    command = [tools.cmake, "--build", str(folder), *([] if tools.ninja else ["--parallel", str(os.cpu_count() or 1)])]
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    printed: list[str] = []
    steps = 0
    with (
        progress("native core") as report,
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            step = _STEP.match(line)
            if step is None:
                printed.append(line)
                continue
            # Looking for files that came or went, and configuring anew, is no work of the compiler.
            if "Re-checking globbed" not in line and "Re-running CMake" not in line:
                steps += "Built target" not in line
                report(int(step["done"]), int(step["total"] or 100))
    output = places.put("".join(_without_noise(printed)))
    if process.returncode != 0:
        raise BuildError("the native core does not compile", output)
    if output:
        sys.stderr.write(output)
    return steps


def _without_noise(lines: Sequence[str]) -> Iterator[str]:
    """What the compiler says, without the command lines that Ninja repeats and the remarks of CMake."""
    failed = False
    for line in lines:
        if failed:
            failed = False
        elif line.startswith("FAILED: "):
            failed = True  # the next line is the command
        elif not line.startswith(("ninja: ", "-- ", "make", "gmake", "Consolidate ", "Scanning dependencies")):
            yield line


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """A bar on a terminal; else one line, once there is something to do."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        said = False

        def say(done: int, total: int) -> None:
            nonlocal said
            if not said:
                print(f"{what}: compiling", flush=True)
            said = True

        yield say
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def put(built: Path, place: Path, started: float) -> None:
    """Copy the module to where it is loaded from, in one instant, and remove those that it takes the place of."""
    if not place.exists() or not filecmp.cmp(built, place, shallow=False):
        copy = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            shutil.copyfile(built, copy)
            os.replace(copy, place)
        finally:
            copy.unlink(missing_ok=True)
    # It gets the time at which the build began: a source that was edited meanwhile is younger.
    os.utime(place, (started, started))
    for name in extension.present(place.parent):
        if name != place.name:
            (place.parent / name).unlink()

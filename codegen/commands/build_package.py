"""`build` in the project of a package: compiles its operators into an extension, which is loaded behind the
core.

It takes a C++ compiler and the headers of Python; those of the core and of NumPy are installed.  Objects are kept by
what they were compiled of, in `build/native` of the project.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from codegen import extension
from codegen.commands import proofs, toolchain
from codegen.commands.build_core import BuildError, Places, progress, put
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.process import ERRORS, OK
from codegen.commands.toolchain import MissingError
from codegen.commands.verify import prove, refuted
from codegen.inputs import root_folder
from codegen.paths import Paths
from codegen.words import CPP
from codegen.writing import write_text

_OPTIONS = ("-std=c++20", "-O3", "-DNDEBUG", "-Wall", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden")


def build_package(paths: Paths, optional: bool = False, no_verify: bool = False) -> int:
    """Compile what a generation has just made for the package, and say on standard output what was done.

    Args:
        paths: Where things lie.
        optional: Where this machine can not build an extension at all, that is no error.
        no_verify: Compare nothing of what was compiled with Python.

    Returns:
        The exit status: 0, or 1 with the reason on standard error.
    """
    started = time.time()
    try:
        place, steps = _build(paths, started)
    except MissingError as error:
        if optional:
            print(f"native operators: not built, which only makes things slower: {error}")
            return OK
        print(f"error: the native operators can not be built: {error}", file=sys.stderr)
        return ERRORS
    except BuildError as error:
        print(error.output, end="" if error.output.endswith("\n") else "\n", file=sys.stderr)
        print(f"error: {error}", file=sys.stderr)
        return ERRORS
    done = f"{steps} steps in {time.time() - started:.1f} s" if steps else "nothing to do"
    print(f"native operators: {done}: {paths.shown(place)}")
    return OK if not steps or not proofs.wanted(no_verify, paths) or _is_proven(paths) else ERRORS


def _is_proven(paths: Paths) -> bool:
    """Compare what was compiled with what Python computes, and say what differs, at its place."""
    status, found = prove(paths, ["--property", "native", "--quiet"])
    if found is None:
        print("warning: C++ was not compared with Python: what was built does not load", file=sys.stderr)
        return True
    wrong = refuted(found["cells"], paths)
    if wrong:
        print_diagnostics(wrong, sys.stderr)
        return False
    proven = sum(cell["status"] == "proven" for cell in found["cells"])
    print(f"proven: C++ computes what Python computes, of {proven} operators")
    return status == 0


def _build(paths: Paths, started: float) -> tuple[Path, int]:
    """The module, and how many files were compiled or linked."""
    core = _core()
    compiler = shlex.split(toolchain.find_compiler())
    name = extension.package_file_name(paths.output, core, paths.native)
    assert name is not None, "a generation leaves a manifest"
    generated = paths.for_target(CPP).output
    own = [Path(file) for file in extension.native_sources(paths.native)]
    sources = [*sorted(generated.glob("*.cpp")), *(file for file in own if file.suffix == ".cpp")]
    command = [*compiler, *_OPTIONS, *_arithmetic(), *shlex.split(os.environ.get("CXXFLAGS", "")), *_includes(paths)]
    common = _digest(repr(command).encode(), core.name.encode(), *(f.read_bytes() for f in own if f.suffix == ".hpp"))
    folder = paths.build / "objects"
    digests = {source: _digest(common, source.read_bytes()).hex()[:16] for source in sources}
    objects = {source: folder / f"{source.stem}-{digest}.o" for source, digest in digests.items()}
    missing = [source for source, built in objects.items() if not built.exists()]
    module = paths.build / name
    folder.mkdir(parents=True, exist_ok=True)
    with progress("native operators") as report, ThreadPoolExecutor(os.cpu_count()) as pool:
        said = []
        for number, text in enumerate(pool.map(lambda source: _compiled(command, source, objects[source]), missing), 1):
            said.append(text)
            report(number, len(missing))
    warnings = Places.of(paths).put("".join(said))
    linked = _digest(*(path.name.encode() for path in objects.values())).hex()
    record = paths.build / "linked"
    steps = len(missing)
    if missing or not module.exists() or not record.exists() or record.read_text() != linked:
        _run([*compiler, *_linking(), *map(str, objects.values()), "-o", str(module)])
        write_text(record, linked)
        steps += 1
    sys.stderr.write(warnings)
    for path in (*folder.glob("*.o"), *paths.build.glob(f"{extension.PREFIX}*")):
        if path not in objects.values() and path != module:
            path.unlink()
    put(module, paths.output / name, started)
    return paths.output / name, steps


def _core() -> Path:
    """The module of the core that the extension will be loaded behind."""
    root = root_folder()
    folder, output = extension.core_place(root)
    file = extension.current(folder, output, root)
    if file is None:
        remedy = f"run: {extension.COMMAND}" if extension.core_files(root) else "install Gradwright with a C++ compiler"
        raise MissingError(f"Gradwright has no native core here, and they run on it; {remedy}")
    return Path(file)


def _compiled(command: Sequence[str], source: Path, built: Path) -> str:
    """Compile a file, whole or not at all, and give the warnings."""
    unfinished = built.with_suffix(f".{os.getpid()}")
    try:
        said = _run([*command, "-c", str(source), "-o", str(unfinished)])
        os.replace(unfinished, built)
    finally:
        unfinished.unlink(missing_ok=True)
    return said


def _run(command: Sequence[str]) -> str:
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if finished.returncode != 0:
        raise BuildError("the native operators do not compile", finished.stdout)
    return finished.stdout


def _arithmetic() -> list[str]:
    """The arithmetic is that of the core, and so NumPy's."""
    engine, _ = extension.source_folders(root_folder())
    return Path(engine, "arithmetic.flags").read_text(encoding="utf-8").split()


def _includes(paths: Paths) -> list[str]:
    import numpy

    own = [] if paths.native is None else [f"-I{paths.native.parent}"]
    core = (f"-I{folder}" for folder in extension.source_folders(root_folder()))
    return [*core, *own, f"-I{sysconfig.get_path('include')}", "-isystem", numpy.get_include()]


def _linking() -> list[str]:
    """What the core has is found when the module is loaded."""
    return ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()

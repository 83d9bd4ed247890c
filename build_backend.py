"""The build backend: scikit-build-core, told what a wheel of this project holds.

A wheel holds the generated operators, which git does not, and the native core where it can be built.  Where it can not,
the wheel is one of Python alone, which does the same more slowly.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from scikit_build_core import build
from scikit_build_core.build import build_sdist, get_requires_for_build_sdist

from codegen import extension
from codegen.commands import toolchain
from codegen.module_names import PUBLIC_PACKAGE, with_long_names

# There is no hook that prepares metadata: only the build itself tells whether the wheel belongs to one platform.
__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

Settings = Mapping[str, str | list[str]]

ROOT = Path(__file__).resolve().parent
# What a wheel has in site-packages (pyproject.toml).
STAGE = ROOT / "build" / "wheel" / PUBLIC_PACKAGE
# Not the checkout's own, which may hold an extension of the checkout, and imports modules by other names.
OUTPUT = STAGE / "generated"
# The packages by hand, and where they lie in the wheel.
PACKAGES = {PUBLIC_PACKAGE: STAGE, "codegen": STAGE / "codegen", "runtime": STAGE / "runtime"}
# What lies at the root of a checkout; an installed codegen finds it in its own folder.
DATA = (
    "native_functions.yaml", "derivatives.yaml", "samples.yaml", "docs/reports/examples.txt", "pytorch_helpers.yaml",
    "templates",
)  # fmt: skip
# Of the generator; the native core needs NumPy's headers.
REQUIRES = ["numpy>=2.1", "PyYAML>=6.0", "Jinja2>=3.1", "rich>=13.0"]


def get_requires_for_build_editable(config_settings: Settings | None = None) -> list[str]:
    return []


def build_editable(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """A wheel with the path of the source tree, in which whoever edits the YAML runs codegen and sees its errors."""
    path = ROOT / "build" / "editable.pth"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{ROOT}\n", encoding="utf-8")
    os.environ["GRADWRIGHT_EDITABLE"] = "1"
    try:
        return build.build_wheel(wheel_directory, dict(config_settings or {}), metadata_directory)
    finally:
        del os.environ["GRADWRIGHT_EDITABLE"]


def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    if _why_not() is not None:
        return REQUIRES
    # scikit-build-core asks for CMake and Ninja where the machine has none.
    return [*REQUIRES, *build.get_requires_for_build_wheel(dict(config_settings or {}))]


def build_wheel(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """Generate, then build with the native core, or without it and with one line that says so.

    Raises:
        RuntimeError: The generator found errors in the YAML.
    """
    _put_together()
    given = dict(config_settings or {})
    reason = _why_not()
    if reason is None:
        native = {
            "cmake.define.GRADWRIGHT_OUTPUT": str(OUTPUT),
            "cmake.define.GRADWRIGHT_MODULE": _module_name(),
            "cmake.define.GRADWRIGHT_PREFIX": f"{PUBLIC_PACKAGE}.",
        }
        try:
            return build.build_wheel(wheel_directory, {**native, **given}, metadata_directory)
        except SystemExit:  # of scikit-build-core, which has shown what the compiler said
            reason = "it does not compile here"
        except Exception as error:  # whatever it was: without the core nothing of the machine is needed
            reason = f"it can not be built here: {error}"
    print(f"gradwright: installed without its native core, which only makes it faster: {reason}", flush=True)
    return build.build_wheel(wheel_directory, {**given, "wheel.cmake": "false"}, metadata_directory)


def _why_not() -> str | None:
    if os.environ.get(extension.SWITCH) == "0":
        return f"{extension.SWITCH}=0 switches it off"
    return None if toolchain.compiler() else toolchain.NO_COMPILER


def _module_name() -> str:
    name = extension.file_name(OUTPUT, ROOT)
    assert name is not None, "the generator leaves a manifest"
    return name


def _put_together() -> None:
    """Make the folder that a wheel holds: the packages, with the names by which they import each other there."""
    shutil.rmtree(STAGE, ignore_errors=True)
    for package, place in PACKAGES.items():
        shutil.copytree(ROOT / package, place, ignore=shutil.ignore_patterns("__pycache__"))
    for file in STAGE.rglob("*.py*"):
        text = file.read_text(encoding="utf-8")
        file.write_text(with_long_names(text, file.suffix), encoding="utf-8")
    for name in DATA:
        place = STAGE / "codegen" / "data" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place)
    _generate()


def _generate() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "codegen", "generate", "--no-verify", "--long-names", "--out", str(OUTPUT)],
        cwd=ROOT,
        # The interpreter of the build does not have the source tree on its path when it runs in isolation.
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if finished.returncode != 0:
        raise RuntimeError(f"python -m codegen failed, so there is nothing to pack:\n{finished.stdout}")
    shutil.rmtree(OUTPUT / "__pycache__", ignore_errors=True)  # an installer makes its own

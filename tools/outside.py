"""From wheels, outside of the checkout: `python -m tools.outside` builds them and uses them as a stranger would.

It builds the wheel of this project, with its native core, and installs it into a fresh environment. There it goes the
way of somebody with an empty folder (install, init, gradwright, pytest), and that of a package on top: it generates and
compiles `examples/out_of_tree`, packs and installs it with its extension, and runs its tests with the core and without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_IGNORED = shutil.ignore_patterns("_generated", "__pycache__", "build", "*.egg-info")


class Place:
    """A fresh environment, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scripts = folder / "env" / "bin"
        venv.create(folder / "env", with_pip=True)

    def run(self, where: Path, *command: str, **variables: str) -> str:
        """Run a command of the environment; a failure ends the script and shows what it printed."""
        inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "GRADWRIGHT_NATIVE", "VIRTUAL_ENV")}
        path = f"{self.scripts}{os.pathsep}{os.environ['PATH']}"
        print("$", *command, flush=True)
        finished = subprocess.run(
            [str(self.scripts / command[0]), *command[1:]],
            cwd=where,
            env={**inherited, "PATH": path, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if finished.returncode != 0:
            sys.exit(f"{finished.stdout}\nended with {finished.returncode}")
        return finished.stdout

    def install(self, *what: str) -> None:
        """Install packages."""
        self.run(self.folder, "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="outside-") as name:
        place = Place(Path(name))
        place.install(str(_wheel(place.folder / "dist")), "pytest", "setuptools>=64", "wheel")
        _from_an_empty_folder(place)
        _a_package_on_top(place)
    print("outside of the checkout all is well")


def _wheel(output: Path) -> Path:
    """The wheel of this project, with its native core."""
    print("$ python -m build --wheel", flush=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = output.glob("gradwright-*.whl")
    if "-cp" not in wheel.name:
        sys.exit(f"{wheel.name} has no native core")
    return wheel


def _from_an_empty_folder(place: Place) -> None:
    empty = place.folder / "empty"
    empty.mkdir()
    place.run(empty, "gradwright", "init", "mylib")
    place.run(empty, "gradwright")
    for words in (["--check"], ["lint"], ["verify"]):  # as in the workflow of the package
        place.run(empty, "gradwright", *words)
    print(place.run(empty, "pytest", "-q", GRADWRIGHT_NATIVE="1").splitlines()[-1])


def _a_package_on_top(place: Place) -> None:
    project = place.folder / "planar"
    shutil.copytree(ROOT / "examples" / "out_of_tree", project, ignore=_IGNORED)
    print(place.run(project, "gradwright", "build").splitlines()[-1])
    place.run(project, "python", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", ".")
    (wheel,) = (project / "dist").glob("planar-*.whl")
    if "-cp" not in wheel.name:
        sys.exit(f"{wheel.name} has no extension")
    place.install("--no-deps", str(wheel))
    tests = place.folder / "tests"
    shutil.copytree(project / "tests", tests)
    for switch in ("1", "0"):
        print(place.run(tests, "pytest", "-q", GRADWRIGHT_NATIVE=switch).splitlines()[-1])
    explained = "import gradwright as g, planar; x = g.ones(3); print(g.native.explain(planar.hypot3, x, x, x))"
    if "native loop" not in place.run(tests, "python", "-W", "error", "-c", explained):
        sys.exit("the extension of planar is not used")
    imported = "import gradwright, planar; print(gradwright.__file__, planar.__file__)"
    for file in place.run(tests, "python", "-c", imported).split():
        if not Path(file).is_relative_to(place.folder):
            sys.exit(f"{file} is not what was installed")


if __name__ == "__main__":
    main()

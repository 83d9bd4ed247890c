"""`python -m codegen build` and the wheel, in a copy of the tree with a core of a few lines, which compiles at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from codegen import extension
from codegen.commands import toolchain
from support.documents import copy_tree


def _why_not() -> str | None:
    try:
        toolchain.find()
    except toolchain.MissingError as error:
        return str(error)
    return None


REASON = _why_not()
needs_tools = pytest.mark.skipif(REASON is not None, reason=f"no extension can be built here: {REASON}")

pytestmark = pytest.mark.xdist_group("native build")  # one process builds the tree that they copy

CORE = """
#include <Python.h>
int answer();
static PyObject* version(PyObject*, PyObject*) { return PyLong_FromLong(answer()); }
static PyMethodDef methods[] = {{"version", version, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods};
PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&definition); }
"""
PRECOMPILED = ("kernels.hpp", "views.hpp")  # as CMakeLists.txt names them
NO_COMPILER = {"CC": "/bin/false", "CXX": "/bin/false"}
# Without the rest of the runtime, which has no use for such a core.
LOOK = """
import importlib, sys, types
for name in {packages}:
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [f"{{folder or '.'}}/{{name.replace('.', '/')}}" for folder in sys.path]
native = importlib.import_module(f"{{name}}.native")
print(native.core.version() if native.core else native.why_not())
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with a core of two files, of which the second gives an answer, and no C++ of the generator."""
    tree = copy_tree(tmp_path_factory.mktemp("native"))
    shutil.rmtree(tree / "generated" / "cpp", ignore_errors=True)
    words = tree / "codegen/words.py"
    both, text = 'TARGETS = ("python", "cpp")', words.read_text()
    assert text.count(both) == 1, f"{words.name} says otherwise what is emitted"
    words.write_text(text.replace(both, 'TARGETS = ("python",)'))
    source, kernels = tree / "runtime/native/src", tree / "runtime/operators/kernels"
    for file in (file for folder in (source, kernels) for kind in ("cpp", "hpp") for file in folder.glob(f"*.{kind}")):
        file.unlink()
    (source / "module.cpp").write_text(CORE)
    for header in PRECOMPILED:
        (kernels / header).write_text("")
    answer(tree, "6 * 7")
    return tree


@pytest.fixture(scope="module")
def built(original: Path) -> Path:
    assert build(original).returncode == 0
    return original


@pytest.fixture
def tree(built: Path, tmp_path: Path) -> Path:
    """The tree as it is just after a build; the times of the files are kept."""
    shutil.copytree(built, tmp_path / "tree", ignore=shutil.ignore_patterns("build"))
    return tmp_path / "tree"


def answer(tree: Path, expression: str) -> None:
    (tree / "runtime/native/src/answer.cpp").write_text(f"int answer() {{ return {expression}; }}\n")


def python(tree: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if key not in (extension.SWITCH, "PYTHONPATH")}
    return subprocess.run(
        [sys.executable, *words], cwd=tree, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def build(tree: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return python(tree, "-m", "codegen", "build", *words, **environment)


def look(tree: Path, **environment: str) -> tuple[str, str]:
    """What a new process in `tree` says of the core, and its warnings."""
    done = python(tree, "-c", LOOK.format(packages=("runtime",)), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@needs_tools
def test_what_is_built_is_loaded(built: Path) -> None:
    answer(built, "6 * 7")
    assert build(built).returncode == 0
    assert look(built) == ("42", "")
    assert look(built, GRADWRIGHT_NATIVE="0") == ("GRADWRIGHT_NATIVE=0 switches it off", "")


@needs_tools
def test_a_second_build_does_nothing(built: Path) -> None:
    module = built / "build/native/_native.so"
    before = module.stat().st_mtime_ns
    done = build(built)
    assert done.returncode == 0, done.stderr
    assert "native core: nothing to do: generated/_native-" in done.stdout
    assert module.stat().st_mtime_ns == before


@needs_tools
def test_an_edited_file_is_stale_until_it_is_built_and_only_it_is_compiled(built: Path) -> None:
    answer(built, "43")
    said, warning = look(built)
    assert "built from other sources" in said
    assert warning.count("The native core is off") == 1
    done = build(built)
    assert "native core: 2 steps in" in done.stdout, done.stderr  # the file, and linking
    assert look(built) == ("43", "")
    assert len(extension.present(built / "generated")) == 1


@needs_tools
def test_a_file_that_comes_is_compiled(built: Path) -> None:
    (built / "runtime/native/src/more.cpp").write_text("int more() { return 1; }\n")
    done = build(built)
    assert "native core: 2 steps in" in done.stdout, done.stderr
    assert look(built)[1] == ""


@needs_tools
def test_output_of_other_yaml_is_stale(tree: Path) -> None:
    with (tree / "derivatives.yaml").open("a") as file:
        file.write("# changed\n")
    assert python(tree, "-m", "codegen", "--target", "python").returncode == 0
    said, warning = look(tree)
    assert "built from other sources" in said
    assert "run: python -m codegen build" in warning


@needs_tools
def test_an_error_of_the_compiler_is_shown(tree: Path) -> None:
    answer(tree, "forty_two")
    done = build(tree)
    assert done.returncode == 1
    assert "answer.cpp:1:" in done.stderr
    assert "forty_two" in done.stderr
    assert done.stderr.endswith("error: the native core does not compile\n")
    assert "-fvisibility" not in done.stderr  # the command line is noise
    assert "built from other sources" in look(tree)[0]


@needs_tools
def test_another_output_folder_has_an_extension_of_its_own(built: Path, tmp_path: Path) -> None:
    done = build(built, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(extension.present(tmp_path)) == 1
    assert look(built, GRADWRIGHT_GENERATED=str(tmp_path))[1] == ""


def test_without_a_compiler_one_line_says_so(original: Path) -> None:
    done = build(original, **NO_COMPILER)
    assert done.returncode == 1
    assert done.stderr == (
        "error: the native core can not be built: there is no C++ compiler (g++ or clang++, or what CXX names)\n"
    )
    done = build(original, "--optional", **NO_COMPILER)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("native core: not built, which only makes things slower: ")


@needs_tools
def test_a_machine_that_cmake_does_not_get_along_with(tree: Path) -> None:
    cmake = tree / "CMakeLists.txt"
    cmake.write_text(f'{cmake.read_text()}\nmessage(FATAL_ERROR "too old")\n')
    done = build(tree)
    assert done.returncode == 1
    assert "too old" in done.stderr
    assert done.stderr.endswith("error: CMake can not configure the native core\n")
    done = build(tree, "--optional")
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_in_the_yaml_come_before_any_compiler(tree_of_yaml: Path) -> None:
    done = build(tree_of_yaml, "--derivatives", "broken.yaml")
    assert done.returncode == 1
    assert "broken.yaml:1:" in done.stderr
    assert "native core" not in done.stdout + done.stderr


@pytest.fixture
def tree_of_yaml(original: Path) -> Path:
    (original / "broken.yaml").write_text("- name: not_there(Tensor self) -> Tensor\n  self: grad\n")
    return original


@pytest.mark.parametrize("words", [("build", "--check"), ("build", "--json"), ("generate", "--sanitize")])
def test_arguments_that_do_not_go_together(original: Path, words: tuple[str, ...]) -> None:
    done = python(original, "-m", "codegen", *words)
    assert done.returncode == 2
    assert f"codegen {words[0]}: error: unrecognized arguments: {words[1]}" in done.stderr


def wheel(tree: Path, **environment: str) -> tuple[Path, str]:
    """A wheel, unpacked, and what was printed while it was made."""
    out = tree / "dist"
    shutil.rmtree(out, ignore_errors=True)
    # Without isolation: the extra `test` has all that a build needs, so that no test reaches for a registry.
    done = python(tree, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), **environment)
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    (file,) = out.glob("*.whl")
    site = tree / "dist" / file.stem
    with zipfile.ZipFile(file) as archive:
        archive.extractall(site)
    return site, printed


def look_installed(site: Path) -> tuple[str, str]:
    done = python(site.parent, "-c", LOOK.format(packages=("gradwright", "gradwright.runtime")), PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@needs_tools
def test_a_wheel_holds_the_extension(tree: Path) -> None:
    answer(tree, "44")
    # One of the checkout, which the wheel must not take along.
    (tree / "generated" / f"_native-{'0' * 16}-{'0' * 16}{extension.SUFFIX}").touch()
    site, _ = wheel(tree)
    assert not site.name.endswith("-none-any")
    assert len(extension.present(site / "gradwright" / "generated")) == 1
    assert look_installed(site) == ("44", "")


@pytest.mark.parametrize("compiles", [False, pytest.param(True, marks=needs_tools)])
def test_a_wheel_without_the_extension_works(original: Path, tmp_path: Path, compiles: bool) -> None:
    tree = shutil.copytree(original, tmp_path / "tree", ignore=shutil.ignore_patterns("build", "_native-*"))
    if compiles:  # as far as a compiler does that does not know the language
        answer(tree, "forty_two")
    site, printed = wheel(tree, **({} if compiles else NO_COMPILER))
    assert printed.count("gradwright: installed without its native core") == 1
    assert site.name.endswith("-py3-none-any")
    said, warning = look_installed(site)
    assert said.endswith("install again where there is a C++ compiler")
    assert warning == ""

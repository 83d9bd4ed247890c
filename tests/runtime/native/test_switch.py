"""Which extension is loaded as the native core, and what is said where it is none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from codegen import extension
from codegen.inputs import OUTPUT_VARIABLE
from codegen.paths import project_paths
from runtime import native
from support.documents import ROOT

PATHS = project_paths()
OTHER = "0123456789abcdef"


def found() -> tuple[ModuleType | None, str | None]:
    """What a process would find that starts in the present environment."""
    return native.find()


def silently() -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module, reason = found()
    assert module is None
    return reason


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An output folder with no extension in it, which the environment names."""
    shutil.copy(PATHS.output / "manifest.json", tmp_path)
    monkeypatch.setenv(OUTPUT_VARIABLE, str(tmp_path))
    monkeypatch.delenv(extension.SWITCH, raising=False)
    return tmp_path


def name(output: Path) -> str:
    found = extension.file_name(output, PATHS.root)
    assert found is not None
    return found


def test_without_an_extension_nothing_is_said(output: Path) -> None:
    reason = silently()
    assert reason is not None
    assert "there is none in" in reason
    assert reason.endswith("run: python -m codegen build")


def test_an_extension_of_another_python_is_none(output: Path) -> None:
    (output / f"_native-{OTHER}-{OTHER}.cpython-27m-vax.so").touch()
    assert "there is none in" in str(silently())


def test_one_of_other_sources_is_not_even_opened(output: Path) -> None:
    (output / f"_native-{OTHER}-{OTHER}{extension.SUFFIX}").write_text("no library")
    with pytest.warns(UserWarning, match=r"^The native core is off: .* other sources; run: python -m codegen build$"):
        module, reason = found()
    assert module is None
    assert "other sources" in str(reason)


def test_one_that_can_not_be_loaded_is_a_warning(output: Path) -> None:
    (output / name(output)).write_text("no library")
    with pytest.warns(UserWarning, match=r"^The native core is off: .* can not be loaded: .*; run: "):
        module, _ = found()
    assert module is None


def test_it_can_be_switched_off(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (output / name(output)).write_text("no library")
    monkeypatch.setenv(extension.SWITCH, "0")
    assert silently() == "GRADWRIGHT_NATIVE=0 switches it off"


@pytest.mark.parametrize("content", [None, "no library"])
def test_it_can_be_insisted_on(output: Path, monkeypatch: pytest.MonkeyPatch, content: str | None) -> None:
    if content is not None:
        (output / name(output)).write_text(content)
    monkeypatch.setenv(extension.SWITCH, "1")
    with pytest.raises(ImportError, match=r"^GRADWRIGHT_NATIVE=1, but there is no native core: "):
        found()


def test_a_folder_may_be_named(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = output / "elsewhere"
    folder.mkdir()
    monkeypatch.setenv(extension.SWITCH, str(folder))
    with pytest.raises(ImportError, match=r"there is none in .*elsewhere"):
        found()
    (folder / name(output)).write_text("no library")
    with pytest.raises(ImportError, match=r"elsewhere/.* can not be loaded"):
        found()


def test_generating_from_other_yaml_makes_it_stale(output: Path) -> None:
    before = name(output)
    manifest = output / "manifest.json"
    sources = json.loads(manifest.read_text())["sources"]
    manifest.write_text(manifest.read_text().replace(sources, OTHER * 4))
    assert name(output) != before
    (output / before).write_text("no library")
    with pytest.warns(UserWarning, match="other sources"):
        found()


def test_sources_that_were_edited_make_it_stale(tmp_path: Path) -> None:
    output = tmp_path / "generated"
    sources = tmp_path / "runtime/native/src"
    for folder in (output, sources):
        folder.mkdir(parents=True)
    for name in ("CMakeLists.txt", "native_functions.yaml"):
        (tmp_path / name).touch()
    shutil.copy(PATHS.output / "manifest.json", output)
    source = sources / "module.cpp"
    source.write_text("int one;")
    os.utime(source, (1e9, 1e9))
    built = extension.file_name(output, tmp_path)
    assert built is not None
    (output / built).touch()
    os.utime(output / built, (3e9, 3e9))
    assert extension.current(output, output, tmp_path) == str(output / built)
    source.write_text("int two;")
    os.utime(source, (4e9, 4e9))
    assert extension.current(output, output, tmp_path) is None
    source.write_text("int one;")  # younger, and the same
    os.utime(source, (4e9, 4e9))
    assert extension.current(output, output, tmp_path) == str(output / built)


@pytest.mark.parametrize("switch", ["0", None])
def test_everything_works_without_it(output: Path, switch: str | None) -> None:
    (output / name(output)).write_text("no library")
    for file in PATHS.output.glob("*.py"):
        shutil.copy(file, output)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if switch is not None:
        environment[extension.SWITCH] = switch
    script = (
        "import gradwright; from runtime import native; assert native.core is None;"
        "x = gradwright.tensor(3.0, requires_grad=True); (x * x).backward(); print(x.grad.item())"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "6.0\n", done.stderr
    assert done.stderr.count("The native core is off") == (switch is None)


@pytest.mark.skipif(not native.is_available(), reason=f"no native core: {native.why_not()}")
def test_there_is_no_reason_against_a_core_that_is_there() -> None:
    assert native.core is not None
    assert native.why_not() is None

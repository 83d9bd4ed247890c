"""`import runtime` and `import generated`: either first, and what is said where the output is missing or stale."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import runtime
from runtime.loading import load
from runtime.native import is_available

ROOT = Path(__file__).parents[1]


def python(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(cwd)}
    return subprocess.run(
        [sys.executable, "-c", script], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("first", ["import runtime, generated", "import generated, runtime"])
def test_either_may_come_first(first: str) -> None:
    script = f"{first}; x = runtime.tensor([1.0]); print(generated.mul(x, x).item(), runtime.mul is generated.mul)"
    done = python(script, ROOT)
    assert done.stdout == "1.0 True\n", done.stderr


def test_importing_does_not_load_what_is_used_later() -> None:
    others = ("scipy", "ml_dtypes", "jinja2", "yaml", "rich", "torch", "numpy.random", "numpy.typing")
    ours = [f"runtime.{name}" for name in ("binding", "func", "library", "nn", "optim", "printing", "profiler")]
    ours += [f"runtime.autograd.{name}" for name in ("forward_ad", "functional", "graph")]
    ours += ["codegen.schema", "codegen.paths", "codegen.manifest"]
    if not is_available():  # the native core looks the Nodes up that it leaves to Python
        ours.append("generated.nodes")
    script = f"import sys, runtime; print([name for name in {(*others, *ours)} if name in sys.modules])"
    assert python(script, ROOT).stdout == "[]\n"


# What is loaded on first use, and one way to use it.
LATER = [
    "runtime.func.grad",
    "runtime.vmap",
    "runtime.nn.Linear(1, 1)",
    "runtime.nn.functional.relu",
    "runtime.optim.SGD",
    "runtime.optim.lr_scheduler.StepLR",
    "runtime.utils.checkpoint.checkpoint",
    "runtime.library.Library",
    "runtime.Tag.core",
    "runtime.profiler.profile",
    "runtime.printoptions",
    "runtime.is_anomaly_enabled()",
    "runtime.autograd.Function",
    "runtime.autograd.functional.jacobian",
    "runtime.autograd.forward_ad.dual_level",
    "runtime.autograd.graph.saved_tensors_hooks",
    "runtime.autograd.detect_anomaly",
    "runtime.autograd.profiler.profile",
    "runtime.rand(2)",
    "(runtime.ones(1, requires_grad=True) * 2).grad_fn.next_functions",
]


@pytest.mark.parametrize("use", LATER)
def test_what_is_loaded_later_is_there_when_asked_for(use: str) -> None:
    done = python(f"import runtime; assert {use} is not None", ROOT)
    assert done.returncode == 0, done.stderr


def test_names_that_are_loaded_later_are_listed() -> None:
    later = {"func", "nn", "optim", "utils", "library", "profiler", "vmap", "printoptions", "Tag"}
    assert later <= set(dir(runtime))
    assert {"Function", "graph", "functional", "forward_ad", "detect_anomaly"} <= set(dir(runtime.autograd))
    with pytest.raises(AttributeError, match="module 'runtime' has no attribute 'cuda_'"):
        runtime.cuda_
    with pytest.raises(AttributeError, match=r"module 'runtime\.autograd' has no attribute 'nothing'"):
        runtime.autograd.nothing


def test_operators_are_found_without_a_function_of_the_package() -> None:
    assert "__getattr__" not in vars(runtime)


def test_a_module_is_the_same_before_and_after_it_is_loaded() -> None:
    script = (
        "import sys, types, runtime; from runtime import nn; before = type(nn); nn.Linear; "
        "print(before is types.ModuleType, type(nn) is types.ModuleType, nn is sys.modules['runtime.nn'] is runtime.nn)"
    )
    assert python(script, ROOT).stdout == "False True True\n"


def test_threads_that_load_a_module_at_once_all_find_it_whole() -> None:
    script = """
        import sys, threading, runtime
        sys.setswitchinterval(1e-6)
        start, found = threading.Barrier(8), []
        def use(number):
            start.wait()
            found.append(runtime.nn.utils if number % 2 else __import__("runtime.nn.functional"))
        threads = [threading.Thread(target=use, args=(n,)) for n in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(len(found))
    """
    done = python(textwrap.dedent(script), ROOT)
    assert done.stdout == "8\n", done.stderr


def test_a_module_that_failed_to_load_can_be_loaded_again(copy: Path) -> None:
    path = copy / "runtime" / "utils" / "__init__.py"
    path.write_text(path.read_text() + "\nimport sys\nif not hasattr(sys, 'ready'): raise RuntimeError('not yet')\n")
    script = """
        import sys, runtime
        try:
            runtime.utils.checkpoint
        except RuntimeError as error:
            print(error)
        sys.ready = True
        print(runtime.utils.checkpoint.__name__)
    """
    done = python(textwrap.dedent(script), copy)
    assert done.stdout == "not yet\nruntime.utils.checkpoint\n", done.stderr


def test_star_import_brings_the_parts_along() -> None:
    script = "from runtime import *; print(nn.Linear(2, 1)(ones(1, 2)).shape, vmap(sin)(zeros(2)).shape, float32)"
    done = python(script, ROOT)
    assert done.stdout == "runtime.Size([1, 1]) runtime.Size([2]) runtime.float32\n", done.stderr


def test_gradcheck_is_the_function_whichever_way_it_is_imported() -> None:
    script = (
        "from runtime.autograd.gradcheck import gradcheck; import runtime.autograd.gradcheck.compare, runtime; "
        "print(runtime.autograd.gradcheck is gradcheck, callable(gradcheck))"
    )
    assert python(script, ROOT).stdout == "True True\n"


def test_the_collector_is_as_it_was() -> None:
    script = "import gc; {}; import runtime; print(gc.isenabled())"
    assert python(script.format("gc.disable()"), ROOT).stdout == "False\n"
    assert python(script.format("pass"), ROOT).stdout == "True\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("codegen", "runtime", "generated", "templates"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("native_functions.yaml", "derivatives.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_missing_output_is_an_error_that_names_the_command() -> None:
    with pytest.raises(ImportError, match="there is no generated code; run: python -m codegen"):
        load("a_package_that_is_not_there", runtime)


def test_output_of_other_yaml_is_an_error_that_names_the_command(copy: Path) -> None:
    with (copy / "derivatives.yaml").open("a") as file:
        file.write("# changed\n")
    done = python("import generated", copy)
    assert "ImportError: generated was made from other YAML; run: python -m codegen" in done.stderr

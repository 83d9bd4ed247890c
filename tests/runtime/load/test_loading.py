"""`import gradwright` and `import generated`: either first, and what is said where the output is missing or stale."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import runpy
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gradwright
from codegen import output
from runtime.load.loading import import_generated
from support.documents import ROOT


def python(script: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(cwd), **variables}
    return subprocess.run(
        [sys.executable, "-c", script], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("first", ["import gradwright, generated", "import generated, gradwright"])
def test_either_may_come_first(first: str) -> None:
    script = (
        f"{first}; x = gradwright.tensor([1.0]); print(generated.mul(x, x).item(), gradwright.mul is generated.mul)"
    )
    done = python(script, ROOT)
    assert done.stdout == "1.0 True\n", done.stderr


def test_importing_does_not_load_what_is_used_later() -> None:
    others = ("scipy", "ml_dtypes", "jinja2", "yaml", "rich", "torch", "numpy.random", "numpy.typing")
    others += ("pathlib", "random", "shutil", "string", "tempfile")
    ours = [f"runtime.{name}" for name in ("call.binding", "methods.printing")]
    ours += [
        f"gradwright.{name}" for name in ("batches.vectorize", "library.custom", "nn.module", "optim.sgd", "profiler")
    ]
    ours += [f"gradwright.autograd.{name}" for name in ("forward_ad", "functional", "graph")]
    ours += ["codegen.schema", "codegen.paths", "codegen.output", "generated.nodes"]
    assert not [name for name in ours if importlib.util.find_spec(name) is None]
    script = f"import sys, gradwright; print([name for name in {(*others, *ours)} if name in sys.modules])"
    assert python(script, ROOT).stdout == "[]\n"


def test_generated_code_runs_no_kernels_module_before_a_call() -> None:
    script = """
import sys, generated
from runtime.base.lazy import is_waiting
def ready(part): return {n for n, m in sys.modules.items() if n.startswith(part) and not is_waiting(m)}
parts = [f"runtime.operators.{part}." for part in ("kernels", "composite", "helpers")]
print(len(ready("runtime")) <= 130, *[sorted(ready(part)) for part in parts])
import gradwright
gradwright.special.erf(gradwright.ones(2, dtype=gradwright.float16))
print("runtime.operators.kernels.pooling" in ready("runtime"))
"""
    assert python(script, ROOT).stdout == "True ['runtime.operators.kernels.shape'] [] []\nFalse\n"


def test_the_engine_alone_computes_and_prints_and_the_library_adds_methods() -> None:
    script = """
import generated
from runtime.base.creation import tensor
x = tensor([1.0, 2.0], requires_grad=True)
y = generated.mul(x, x)
y.sum().backward()
print(y, x.grad.tolist(), hasattr(x, "storage_type"))
import gradwright
print(x.storage_type() is gradwright.FloatStorage, x.is_xpu, gradwright.native.is_available.__module__)
"""
    done = python(script, ROOT)
    assert done.stdout.splitlines() == [
        "tensor([1., 4.], grad_fn=<MulBackward0>) [2.0, 4.0] False",
        "True False runtime.native",
    ], done.stderr


def test_a_call_puts_the_function_in_the_place_of_what_stood_for_it() -> None:
    """In the operator, its fast path and that of inference mode; behind a kernel that is registered meanwhile, too."""
    script = """
import gradwright as g, generated.operators as ops
def kinds(*more): return [type(each).__name__ for each in (op.built_in["CPU"], ops.erf_default_kernel, *more)]
op, x = ops.erf_default_op, g.ones(2)
with g.inference_mode(): x.relu()
print(kinds(ops.inference_names["erf_default_kernel"]))
library = g.library.Library("aten", "IMPL")
library.impl("erf", lambda x: x * 2, "CPU")
print(g.erf(x).tolist(), kinds())
library._destroy()
print([round(each, 4) for each in g.erf(x).tolist()], kinds(ops.inference_names["erf_default_kernel"]))
from runtime.operators.kernels import special
print(ops.erf_default_kernel is special.erf, op.built_in["CPU"] is special.erf)
print(ops.cumprod_default_op.loaded_kernel("CPU").__module__, ops.sin_default_op.built_in["CPU"].__class__.__name__)
"""
    done = python(script, ROOT, GRADWRIGHT_NATIVE="0")
    assert done.stdout.splitlines() == [
        "['DeferredFunction', 'DeferredFunction', 'DeferredFunction']",
        "[2.0, 2.0] ['function', 'function']",
        "[0.8427, 0.8427] ['function', 'function', 'function']",
        "True True",
        "runtime.operators.kernels.reduction DeferredFunction",
    ], done.stderr


def test_nobody_calls_what_stands_for_a_function_once_its_module_is_loaded() -> None:
    """With the core, which calls kernels by the names that generated modules give them, and without it."""
    done = python(
        """
import gradwright as torch
from runtime.base.deferred import DeferredFunction
x = torch.ones(4, 4, requires_grad=True)
calls = (torch.fft.rfft, torch.erf, torch.linalg.svdvals, torch.cumsum)
def call(): return [f(x, 0) if f is torch.cumsum else f(x) for f in calls]
call()
called = []
DeferredFunction.__call__ = lambda self, *args, **kwargs: called.append(self.name) or self.load()(*args, **kwargs)
print(len(call()), called)
""",
        ROOT,
    )
    assert (done.stdout, done.stderr) == ("4 []\n", "")


def test_what_is_told_of_a_module_that_is_loaded_already_is_told_at_once() -> None:
    """Another thread may load it between the look at the module and the request."""
    from runtime.base.lazy import when_loaded

    called: list[str] = []
    when_loaded(importlib.import_module("runtime.base.tensor"), lambda: called.append("once"))
    assert called == ["once"]


# What is loaded on first use, and one way to use it.
LATER = [
    "gradwright.func.grad",
    "gradwright.vmap",
    "gradwright.nn.Linear(1, 1)",
    "gradwright.nn.functional.relu",
    "gradwright.optim.SGD",
    "gradwright.optim.lr_scheduler.StepLR",
    "gradwright.utils.checkpoint.checkpoint",
    "gradwright.library.Library",
    "gradwright.Tag.core",
    "gradwright.profiler.profile",
    "gradwright.printoptions",
    "gradwright.is_anomaly_enabled()",
    "gradwright.autograd.Function",
    "gradwright.autograd.functional.jacobian",
    "gradwright.autograd.forward_ad.dual_level",
    "gradwright.autograd.graph.saved_tensors_hooks",
    "gradwright.autograd.detect_anomaly",
    "gradwright.autograd.profiler.profile",
    "gradwright.rand(2)",
    "(gradwright.ones(1, requires_grad=True) * 2).grad_fn.next_functions",
]


@pytest.mark.parametrize("use", LATER)
def test_what_is_loaded_later_is_there_when_asked_for(use: str) -> None:
    done = python(f"import gradwright; assert {use} is not None", ROOT)
    assert done.returncode == 0, done.stderr


def test_names_that_are_loaded_later_are_listed() -> None:
    later = {"func", "nn", "optim", "utils", "library", "profiler", "vmap", "printoptions", "Tag"}
    assert later <= set(dir(gradwright))
    assert {"Function", "graph", "functional", "forward_ad", "detect_anomaly"} <= set(dir(gradwright.autograd))
    with pytest.raises(AttributeError, match="module 'gradwright' has no attribute 'cuda_'"):
        gradwright.cuda_
    with pytest.raises(AttributeError, match=r"module 'gradwright\.autograd' has no attribute 'nothing'"):
        gradwright.autograd.nothing


def test_operators_are_found_without_a_function_of_the_package() -> None:
    assert "__getattr__" not in vars(gradwright)


def test_a_module_is_the_same_before_and_after_it_is_loaded() -> None:
    script = (
        "import sys, types, gradwright; from gradwright import nn; before = type(nn); nn.Linear; "
        "print(before is types.ModuleType, type(nn) is types.ModuleType, "
        "nn is sys.modules['gradwright.nn'] is gradwright.nn)"
    )
    assert python(script, ROOT).stdout == "False True True\n"


def test_threads_that_load_a_module_at_once_all_find_it_whole() -> None:
    """Each comes in at another end, in an order of its own, while the interpreter changes between them all the time."""
    script = f"""
        import importlib, random, sys, threading, gradwright
        sys.setswitchinterval(1e-6)
        uses = {LATER!r} + ["gradwright.nn.utils", "gradwright.nn.functional.gelu(gradwright.ones(2))"]
        names = ["gradwright.nn.functional", "gradwright.nn.utils", "runtime.operators.batching.rules.families",
            "gradwright.batches.vectorize", "runtime.call.registered", "gradwright.autograd.functional",
            "gradwright.optim.sgd", "runtime.methods.printing", "gradwright.profiler", "runtime.call.overloads",
            "generated.nodes", "generated.registry", "codegen.schema.types"]
        start, errors = threading.Barrier(16), []
        def use(number):
            todo = [(eval, text) for text in uses] + [(look_into, name) for name in names]
            random.Random(number).shuffle(todo)
            start.wait()
            for function, text in todo:
                try:
                    assert function(text) is not None
                except BaseException as error:
                    errors.append((text, error))
        def look_into(name):
            module = importlib.import_module(name)
            assert module is sys.modules[name]
            return module.__all__ if hasattr(module, "__all__") else vars(module)
        threads = [threading.Thread(target=use, args=(n,)) for n in range(16)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(errors)
    """
    done = python(textwrap.dedent(script), ROOT)
    assert done.stdout == "[]\n", done.stdout + done.stderr


# A package whose parts wait, with code that goes on only when another thread has come as far as it can.
STAND_IN = """
    from runtime.base.lazy import load_lazily, load_the_rest_lazily
    load_lazily(__name__, ("first", "second"))
    load_the_rest_lazily(__name__)
    from threading import Event
    inside, outside = Event(), Event()
"""


def stand_in(folder: Path, script: str, part: str | None = None, **modules: str) -> str:
    """What the script prints beside a package `standin` of these modules; with a `part`, the first is a package."""
    texts = {"__init__.py": STAND_IN, **{f"{name}.py": text for name, text in modules.items()}}
    if part is not None:
        texts |= {"first/__init__.py": texts.pop("first.py"), "first/part.py": part}
    for name, text in texts.items():
        path = folder / "standin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    before = f"import sys, threading; sys.path.insert(1, {str(ROOT)!r}); import gradwright, standin; found = []\n"
    done = python(before + textwrap.dedent(script), folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_package_and_its_part_can_be_loaded_from_both_ends_at_once(tmp_path: Path) -> None:
    """One thread comes by the name of the part, while another runs the package, which imports the part."""
    printed = stand_in(
        tmp_path,
        """
        import importlib
        def by_name():
            standin.inside.wait()
            part = importlib.import_module("standin.first.part")
            standin.outside.set()
            found.append(part.whole)
        thread = threading.Thread(target=by_name, daemon=True)
        thread.start()
        found.append(standin.first.whole)
        thread.join()
        print(found)
        """,
        first="""
            import standin
            standin.inside.set()
            if not standin.outside.wait(300):
                print("the import by name waits for this code")
            from standin.first.part import whole
        """,
        part="import standin.first; whole = 'whole'",
        second="",
    )
    assert printed == "['whole', 'whole']\n"


def test_modules_that_import_each_other_can_be_loaded_from_both_ends_at_once(tmp_path: Path) -> None:
    printed = stand_in(
        tmp_path,
        """
        import importlib
        def second():
            standin.inside.wait()
            importlib.import_module("standin.second")
            standin.outside.set()
            found.append(standin.second.of_first().whole)
        thread = threading.Thread(target=second, daemon=True)
        thread.start()
        found.append(standin.first.of_second().whole)
        thread.join()
        print(found)
        """,
        first="""
            import standin
            standin.inside.set()
            if not standin.outside.wait(300):
                print("the import waits for this code")
            import standin.second
            def of_second(): return standin.second
            standin.second.whole
            whole = 1
        """,
        second="""
            import standin.first
            def of_first(): return standin.first
            whole = 2
        """,
    )
    assert printed in ("[2, 1]\n", "[1, 2]\n")


def test_a_user_s_module_may_import_what_another_thread_loads(tmp_path: Path) -> None:
    """The other thread does not need the lock that the import system holds for the user's module."""
    (tmp_path / "users.py").write_text("import standin; standin.outside.set(); found = standin.first.whole")
    printed = stand_in(
        tmp_path,
        """
        def load():
            found.append(standin.first.whole)
        thread = threading.Thread(target=load, daemon=True)
        thread.start()
        standin.inside.wait()
        import users
        thread.join()
        print(found, users.found)
        """,
        first="import standin; standin.inside.set(); standin.outside.wait(); from standin.second import whole",
        second="import standin.first; whole = 'whole'",
    )
    assert printed == "['whole'] whole\n"


def test_nothing_is_seen_half_loaded(tmp_path: Path) -> None:
    """Neither the module that runs, nor one that it brought along and that has run: it may lead back."""
    printed = stand_in(
        tmp_path,
        "print(standin.first.before); [thread.join() for thread in standin.first.threads]; print(standin.found)",
        first="""
            import threading, standin
            standin.found, state = [], "half"
            def state_of(): return state
            from standin.second import borrowed
            looks = [lambda: standin.first.state, lambda: standin.second.borrowed()]
            looks.append(lambda: vars(standin.first)["state"])
            threads = [threading.Thread(target=lambda look=look: standin.found.append(look())) for look in looks]
            for thread in threads: thread.start()
            for thread in threads: thread.join(0.05)
            before = list(standin.found)
            state = "whole"
        """,
        second="from standin.first import state_of as borrowed",
    )
    before, after = printed.splitlines()
    assert before == "[]"
    assert after.strip("[]").split(", ") == ["'whole'"] * 3


def test_what_is_set_on_a_module_that_waits_stays(tmp_path: Path) -> None:
    printed = stand_in(
        tmp_path,
        "import standin.first; standin.first.value = 2; del standin.second.value; "
        "print(standin.first.value, hasattr(standin.second, 'value'))",
        first="value = 1",
        second="value = 1",
    )
    assert printed == "2 False\n"


def test_a_module_that_waits_can_be_inspected_and_loaded_again(tmp_path: Path) -> None:
    printed = stand_in(
        tmp_path,
        """
        import importlib, importlib.util, inspect
        print(standin.first.__file__ == importlib.util.find_spec("standin.first").origin)
        print(importlib.util.find_spec("standin.second").loader.get_source("standin.second"))
        standin.first.value = 3
        print(importlib.reload(standin.first).value, inspect.getsource(standin.first))
        """,
        first="value = 1",
        second="value = 2",
    )
    assert printed == "True\nvalue = 2\n1 value = 1\n\n"


def test_a_module_that_failed_to_load_can_be_loaded_again(copy: Path) -> None:
    path = copy / "gradwright" / "utils" / "__init__.py"
    path.write_text(path.read_text() + "\nimport sys\nif not hasattr(sys, 'ready'): raise RuntimeError('not yet')\n")
    script = """
        import sys, gradwright
        try:
            gradwright.utils.checkpoint
        except RuntimeError as error:
            print(error)
        sys.ready = True
        print(gradwright.utils.checkpoint.__name__)
    """
    done = python(textwrap.dedent(script), copy)
    assert done.stdout == "not yet\ngradwright.utils.checkpoint\n", done.stderr


def test_star_import_brings_the_parts_along() -> None:
    script = "from gradwright import *; print(nn.Linear(2, 1)(ones(1, 2)).shape, vmap(sin)(zeros(2)).shape, float32)"
    done = python(script, ROOT)
    assert done.stdout == "gradwright.Size([1, 1]) gradwright.Size([2]) gradwright.float32\n", done.stderr


@pytest.mark.parametrize("name", ["forward_ad", "functional", "graph", "profiler"])
def test_a_part_may_be_imported_before_its_package_is_used(name: str) -> None:
    script = (
        f"import gradwright.autograd.{name} as part; import gradwright, sys; "
        f"print(len(dir(part)) > 9, part is gradwright.autograd.{name} is sys.modules['gradwright.autograd.{name}'])"
    )
    done = python(script, ROOT)
    assert done.stdout == "True True\n", done.stderr


def test_gradcheck_is_the_function_whichever_way_it_is_imported() -> None:
    script = (
        "from gradwright.autograd.gradcheck import gradcheck; "
        "import gradwright.autograd.gradcheck.compare, gradwright; "
        "print(gradwright.autograd.gradcheck is gradcheck, callable(gradcheck))"
    )
    assert python(script, ROOT).stdout == "True True\n"


def test_the_collector_is_as_it_was() -> None:
    script = "import gc; {}; import gradwright; print(gc.isenabled())"
    assert python(script.format("gc.disable()"), ROOT).stdout == "False\n"
    assert python(script.format("pass"), ROOT).stdout == "True\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("codegen", "runtime", "gradwright", "generated", "templates"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("native_functions.yaml", "derivatives.yaml", "samples.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_missing_output_is_an_error_that_names_the_command() -> None:
    with pytest.raises(ImportError, match="there is no generated code; run: python -m codegen"):
        import_generated("a_package_that_is_not_there")


def test_output_of_other_yaml_is_an_error_that_names_the_command(copy: Path) -> None:
    with (copy / "derivatives.yaml").open("a") as file:
        file.write("# changed\n")
    done = python("import generated", copy)
    assert "ImportError: generated was made from other YAML; run: python -m codegen" in done.stderr


def test_bytecode_lies_beside_generated_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # as in most containers
    output.write({"__init__.py": "", "operators.py": "x = 1\n", "reference.md": "# x\n"}, tmp_path)
    for name in ("__init__.py", "operators.py"):
        assert Path(importlib.util.cache_from_source(str(tmp_path / name))).exists()


@pytest.mark.parametrize("is_kept", [True, False])
def test_bytecode_is_of_the_last_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_kept: bool) -> None:
    """Python tells texts apart by their second and their size, and both may be the same."""
    monkeypatch.setattr(sys, "dont_write_bytecode", not is_kept)
    module = tmp_path / "module.py"
    bytecode = Path(importlib.util.cache_from_source(str(module)))
    for value in range(3):
        output.write({"module.py": f"value = {value}\n"}, tmp_path)
        if is_kept:
            assert not bytecode.exists()
            py_compile.compile(str(module))  # as an import does
        assert runpy.run_path(str(bytecode))["value"] == value


def test_runs_of_the_makefile_keep_bytecode() -> None:
    done = subprocess.run(
        ["make", "-s", "--no-print-directory", "--eval", "shown: ; @echo [$${PYTHONDONTWRITEBYTECODE-}]", "shown"],
        cwd=ROOT, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"

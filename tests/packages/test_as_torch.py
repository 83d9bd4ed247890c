"""Programs that import torch and run on Gradwright, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import programs
from support.documents import ROOT

INSTALL = "import gradwright; gradwright.install_as_torch()\n"


def command(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """`python -m gradwright` with these arguments, as it ended."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))}
    return subprocess.run(
        [sys.executable, "-m", "gradwright", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("from torch import Tensor\nNAME = Tensor.__module__\n")
    path = tmp_path / "train.py"
    path.write_text(
        "import sys\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nimport helper\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "torch.manual_seed(0)\nmodel = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "x = torch.tensor([[0.0, 1.0], [1.0, 0.0]])\n"
        "for batch, y in DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=1):\n"
        "    optimizer.zero_grad()\n    F.mse_loss(model(batch), y).backward()\n    optimizer.step()\n"
        "print(__name__, sys.argv[1:], helper.NAME, torch.float32, model(x).shape)\n"
    )
    return path


def test_a_script_runs(script: Path, tmp_path: Path) -> None:
    finished = command("run", str(script), "--epochs", "3", folder=tmp_path)
    assert finished.stdout == "__main__ ['--epochs', '3'] torch torch.float32 torch.Size([2, 1])\n", finished.stderr


def test_a_module_runs(script: Path, tmp_path: Path) -> None:
    finished = command("run", "-m", "train", "a", folder=tmp_path)
    assert finished.stdout == "__main__ ['a'] torch torch.float32 torch.Size([2, 1])\n", finished.stderr


def test_other_commands_are_of_the_generator() -> None:
    assert command("run").returncode == 2
    assert "usage: python -m gradwright run" in command("run", "--fast").stderr
    assert command("explain", "GW012").stdout.startswith("GW012")


def test_torch_is_gradwright() -> None:
    program = """
import torch, gradwright, torch.nn.functional as F, torch.linalg, functorch
print(torch is gradwright, F is gradwright.nn.functional)
print(torch.linalg is gradwright.linalg, functorch.vmap is gradwright.vmap)
print(torch.__version__, torch.__version__ > "1.13", torch.__version__ >= (2, 0), torch.Tensor.__module__)
print(torch.zeros(1).type(), torch.zeros(1, dtype=torch.float64), torch.channels_last)
"""
    assert programs.run(INSTALL + program) == (
        "True True\nTrue True\n2.13.0 True True torch\n"
        "torch.FloatTensor tensor([0.], dtype=torch.float64) torch.channels_last\n"
    )


def test_libraries_that_look_at_torch_see_its_release() -> None:
    program = """
import numpy, torch
from importlib.metadata import metadata, version
print(torch.__name__, version("torch"), version("Torch"))
print(metadata("torch")["Name"], version("numpy") == numpy.__version__)
print(torch.__config__.show().splitlines()[0].split()[0], "get_num_threads() : " in torch.__config__.parallel_info())
"""
    assert programs.run(INSTALL + program) == "torch 2.13.0 2.13.0\ntorch True\nGradwright True\n"


def test_looking_for_a_name_makes_no_module_of_it() -> None:
    """`from torch import name` lets the import system look for a module of that name, whose import never fails."""
    program = """
import sys, torch
from torch import nothing_like_it, nn
print(nothing_like_it, hasattr(torch, "nothing_like_it"), "torch.nothing_like_it" in sys.modules, nn is torch.nn)
import torch.nothing_else
print(torch.nothing_else.__name__)
"""
    said = "<'torch.nothing_like_it', which Gradwright does not have> False False True\ntorch.nothing_else\n"
    assert programs.run(INSTALL + program) == said


def test_names_stay_without_it() -> None:
    program = """
import gradwright as g
g.nn.Linear
print(g.float32, g.Tensor.__module__, type(g).__name__, type(g.nn).__name__)
"""
    assert programs.run(program) == "gradwright.float32 runtime.base.tensor module module\n"


def test_modules_that_pytorch_has_tell_what_they_lack() -> None:
    program = """
import codegen, torch, torch.sparse, torch.nn, gradwright.files, runtime.native, runtime.base.tensor
torch.nn.Linear, torch.sparse.mm, gradwright.files.load  # they are loaded when they are looked into
shown = (torch, torch.nn, torch.sparse, torch.random, torch.functional)
others = (codegen, gradwright.files, runtime.native, runtime.base.tensor)
print({type(each).__name__ for each in shown}, {type(each).__name__ for each in others})
"""
    assert programs.run(INSTALL + program) == "{'Surface'} {'module'}\n"


def test_paths_of_modules_are_those_of_pytorch() -> None:
    program = """
from torch.nn.modules.linear import Linear
from torch.nn.modules import Conv2d
from torch.optim.adamw import AdamW
from torch.optim.optimizer import Optimizer
from torch.utils.data.sampler import RandomSampler
from torch.nn.parameter import Parameter
from torch.autograd.function import Function
from torch.optim import adamw
import torch, torch.types, torch.cuda.amp, torch.backends.cudnn as cudnn
print(Linear is torch.nn.Linear, Conv2d is torch.nn.Conv2d, AdamW is torch.optim.AdamW, adamw.AdamW is AdamW)
print(torch.nn.modules.conv.Conv1d is torch.nn.Conv1d, torch.nn.modules.module.Module is torch.nn.Module)
cudnn.benchmark = True
print(torch.backends.cudnn.benchmark, torch.cuda.is_available())
"""
    assert programs.run(INSTALL + program) == "True True True True\nTrue True\nTrue False\n"


def test_what_is_missing_raises_when_it_is_used() -> None:
    program = """
import torch, torch._inductor.config as config, torch.onnx
from torch import nothing, package
from torch.package import PackageImporter
from torch.nn import NoSuchModule
from torch.fft import no_such_function
class Derived(NoSuchModule, torch.nn.Module):
    def part(self, other: NoSuchModule | None) -> "PackageImporter[int]": ...
def used(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, isinstance(error, (AttributeError, NotImplementedError)), error)
used(NoSuchModule)
used(Derived)
used(lambda: no_such_function(torch.ones(1)))
used(lambda: package.PackageExporter)
used(lambda: config.debug)
used(lambda: torch.onnx.export(1))
used(lambda: torch.nn.Missing)
used(lambda: torch.linalg.missing)
print(hasattr(torch, "nothing"), hasattr(torch.nn, "NoSuchModule"), isinstance(1, NoSuchModule), NoSuchModule)
"""
    message = "MissingNameError True Gradwright has no '{}': docs/reports/pytorch.md lists what there is\n"
    names = [*["torch.nn.NoSuchModule"] * 2, "torch.fft.no_such_function", "torch.package.PackageExporter"]
    names += ["torch._inductor.config.debug", "torch.onnx.export", "torch.nn.Missing", "torch.linalg.missing"]
    last = "False False False <'torch.nn.NoSuchModule', which Gradwright does not have>\n"
    assert programs.run(INSTALL + program) == "".join(message.format(name) for name in names) + last


def test_a_function_is_no_module() -> None:
    program = """
try:
    import torch.compile.backends
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert programs.run(INSTALL + program) == "torch.compile\n"


def test_it_is_refused_where_pytorch_is_loaded() -> None:
    program = """
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
import gradwright
try:
    gradwright.install_as_torch()
except ImportError as error:
    print(error)
"""
    assert programs.run(program) == ("PyTorch is loaded already: call install_as_torch() before anything imports it\n")


def test_dtypes_and_tensors_are_pickled() -> None:
    program = """
import torch, pickle, copy
x = pickle.loads(pickle.dumps([torch.float16, torch.ones(2, requires_grad=True), torch.Size([1])]))
print(x, copy.deepcopy(x)[0] is torch.float16)
"""
    assert programs.run(INSTALL + INSTALL + program) == (
        "[torch.float16, tensor([1., 1.], requires_grad=True), torch.Size([1])] True\n"
    )

"""Kernels that are printed in CUDA: values as NumPy has them, however operands lie, and CUDA's own compiler."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import nvrtc
import pytest
import support_cuda
import support_cupy

import gradwright as torch
from gradwright import nn
from gradwright.generated.registry import OPERATORS
from gradwright.testing import operator_function, sample_inputs
from gradwright_cupy import agreement, fused
from gradwright_cupy._generated.cuda import kernels

pytestmark = [
    pytest.mark.skipif(support_cuda.compiler() is None, reason="needs a C++ compiler"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # of NumPy, on the side of a choice that is not taken
]
functional = nn.functional

# The operators that have a function in the module of kernels, and what of those is no kernel in CUDA.
PRINTED = {
    name: info
    for name, info in OPERATORS.items()
    if hasattr(kernels, f"{name.partition('.')[0]}_{name.partition('.')[2] or 'default'}")
}
NOT_PRINTED = {"polar", "clamp_min.Tensor", "clamp_max.Tensor"}


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that were launched since."""
    found: list[str] = []
    compiled = fused.Launcher.compiled

    def note(self: fused.Launcher, name: str) -> object:
        found.append(name.partition("<")[0])
        return compiled(self, name)

    monkeypatch.setattr(fused.Launcher, "compiled", note)
    return found


@pytest.mark.parametrize("name", PRINTED)
def test_values_and_gradients_are_those_of_numpy(name: str, launched: list[str]) -> None:
    info = PRINTED[name]
    values = 0
    for dtype in ("float64", "float32", "int64"):
        outcome = agreement.compare(info, dtype, order=2 if dtype == "float64" else 1)
        assert outcome.wrong == []
        assert not [each for each in outcome.missing if name in NOT_PRINTED and "'polar'" not in each]
        values += outcome.values
    assert values or name in NOT_PRINTED
    assert name in NOT_PRINTED or any(each.startswith(name.replace(".", "_")) for each in launched)


def test_all_kernels_are_launched(launched: list[str]) -> None:
    for info in PRINTED.values():
        agreement.compare(info, "float64", order=0)
    assert set(kernels.KERNELS) - set(launched) <= {"xlogy_Scalar_Self_1", "special_xlog1py_self_scalar_1"}


@pytest.mark.parametrize("name", [name for name in PRINTED if name not in NOT_PRINTED])
def test_float16_is_computed_in_float32_and_rounded_once(name: str) -> None:
    info = PRINTED[name]
    if "half" not in info.dtypes:
        return
    for sample in sample_inputs(info, "float32", requires_grad=False):
        function = operator_function(info)
        narrow = agreement._mapped((sample.args, dict(sample.kwargs)), lambda each: _floats(each, torch.float16))
        wide = agreement._mapped(narrow, lambda each: _floats(each, torch.float32))
        args, kwargs = agreement._mapped(narrow, lambda each: each.cuda())
        try:
            found, wanted = function(*args, **kwargs), function(*wide[0], **wide[1])
        except RuntimeError:
            continue
        rounded = wanted.to(found.dtype)
        np.testing.assert_allclose(found.cpu().double(), rounded.double(), rtol=1.1e-3, atol=1e-6)


def _floats(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor.detach().to(dtype) if tensor.is_floating_point() else tensor


def _array(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).normal(size=shape))


LAYOUTS: dict[str, Callable[[], tuple[torch.Tensor, torch.Tensor, torch.Tensor]]] = {
    "flat": lambda: (_array(3, 4), _array(3, 4), _array(3, 4)),
    "more than a grid": lambda: (_array(70_000, 3), _array(70_000, 3), _array(3)),
    "without dimensions": lambda: (_array(), _array(), _array()),
    "nothing": lambda: (_array(0, 3), _array(3), _array(1, 1)),
    "rows and columns": lambda: (_array(5, 1), _array(1, 4), _array(4)),
    "in the middle": lambda: (_array(2, 3, 4), _array(2, 1, 4), _array(3, 1)),
    "four that do not join": lambda: (_array(2, 3, 4, 5), _array(1, 3, 1, 5), _array(2, 1, 4, 1)),
    "six": lambda: (_array(2, 3, 2, 3, 2, 3), _array(1, 3, 1, 3, 1, 3), _array(2, 1, 2, 1, 2, 1)),
}
VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "itself": lambda x: x,
    "transposed": lambda x: x.permute(*reversed(range(x.ndim))) if x.ndim else x,
    "every second": lambda x: x[::2] if x.ndim else x,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("view", VIEWS)
def test_operands_lie_in_any_way(layout: str, view: str) -> None:
    tensors = LAYOUTS[layout]()
    shape = torch.broadcast_shapes(*(each.shape for each in tensors))

    def viewed(tensor: torch.Tensor) -> torch.Tensor:
        return tensor if view == "itself" else VIEWS[view](tensor.expand(shape))

    there, changed = [viewed(each.cuda()) for each in tensors], [viewed(each) for each in tensors]
    found, wanted = torch.addcmul(*there, value=0.5), torch.addcmul(*changed, value=0.5)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.cpu(), wanted, rtol=1e-12)


def test_arrays_that_count_backwards() -> None:
    reverse = support_cupy.ndarray(np.arange(6.0).reshape(2, 3)[::-1, ::-1])
    assert fused.layout((2, 3), (reverse,)) == ((6,), [(-1,)])
    found = kernels.frac_default(support_cupy.ndarray((np.arange(6.0) / 4).reshape(2, 3)[::-1, ::-1]))
    assert found._memory.tolist() == [[0.25, 0.0, 0.75], [0.5, 0.25, 0.0]]


def test_dimensions_are_joined() -> None:
    whole, row = support_cupy.ndarray(np.zeros((2, 3, 4))), support_cupy.ndarray(np.zeros(4))
    assert fused.layout((2, 3, 4), (whole,)) == ((24,), [(1,)])
    assert fused.layout((2, 3, 4), (whole, row)) == ((6, 4), [(4, 1), (0, 1)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: functional.gelu(torch.ones(2, dtype=torch.complex64, device="cuda")), "not implemented for"),
        (lambda: torch.polar(torch.ones(2, device="cuda"), torch.ones(2, device="cuda")), "'polar' has no kernel for"),
    ],
)
def test_what_is_not_printed_says_so(call: Callable[[], object], message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        call()


def test_bools_and_complex_numbers_go_by_the_array_api(launched: list[str]) -> None:
    x = torch.tensor([1 + 2j, -1j], device="cuda")
    np.testing.assert_allclose(x.sigmoid().cpu(), x.cpu().sigmoid(), rtol=1e-6)
    assert torch.relu(torch.tensor([3, -4], device="cuda")).tolist() == [3, 0]
    assert launched == ["relu_default"]


PROJECT = """
    [tool.gradwright]
    schema_version = 1
    package = "mine"
    targets = ["cuda"]
"""
OPERATOR = """
    - func: soft(Tensor self, Scalar k=2) -> Tensor
      variants: function, method
      elementwise: self / (1 + abs(self * k))
      promotion: int_to_float
      dtypes: real
      samples:
      - T(3, 4)
"""
PROGRAM = """
    import sys
    sys.path[:0] = {paths!r}
    import support_cupy
    {imports}
    import gradwright as torch
    from gradwright_cupy import fused
    x = torch.linspace(-1, 3, 6).reshape(2, 3)
    one, other = x.clone().requires_grad_(), x.cuda().requires_grad_()
    for tensor in (one, other):
        (mine.soft(tensor, 3) * tensor.t().soft().sum()).sum().backward()
    assert torch.allclose(other.grad.cpu(), one.grad, rtol=1e-5), (other.grad, one.grad)
    from mine._generated.cuda.kernels import launch
    print(sorted(launch._compiled))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of somebody's own, with an operator."""
    root = tmp_path_factory.mktemp("own")
    folder = root / "mine"
    folder.mkdir()
    (root / "pyproject.toml").write_text(textwrap.dedent(PROJECT))
    (folder / "__init__.py").write_text("from mine._generated import *\n")
    (folder / "native_functions.yaml").write_text(textwrap.dedent(OPERATOR))
    (folder / "derivatives.yaml").write_text("[]\n")
    command = [sys.executable, "-m", "gradwright", "generate", "--no-verify"]
    made = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return root


@pytest.mark.parametrize("imports", ["support_cupy.install(); import mine", "import mine; support_cupy.install()"])
def test_operators_of_other_packages_are_kernels_as_well(project: Path, imports: str) -> None:
    tests = Path(__file__).parent
    paths = [str(project), str(tests), str(tests.parent)]
    program = textwrap.dedent(PROGRAM.format(paths=paths, imports=imports))
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "['soft_default<float, float, false>', 'soft_default<float, float, true>']\n"


@pytest.mark.skipif(nvrtc.library() is None, reason="needs the wheel nvidia-cuda-nvrtc-cu12")
@pytest.mark.parametrize("architecture", ["compute_75", "compute_90"])
def test_the_compiler_of_cuda_takes_all_kernels(architecture: str) -> None:
    names = [name for name in support_cuda.expressions() if "float," in name or architecture == "compute_90"]
    ptx = nvrtc.compile_for(architecture, kernels.launch.source, names)
    assert ptx.count(".entry ") == len(names)
    assert "cvt.f32.f16" in ptx or architecture != "compute_90"

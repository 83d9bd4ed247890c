"""Backends of packages: what is generated of their files, what is refused, and what `coverage` says."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from support.documents import ROOT
from support.own_packages import Project

ARRAYS = """
    class Array:
        pass


    namespace = None


    def from_numpy(array):
        return array


    def to_numpy(array):
        return array
"""
KERNELS = """
    def relu(self):
        return self


    def tanh(self, other):
        return self


    def fast(self, mat2):
        return self
"""


@pytest.fixture
def backend(project: Project) -> Callable[[str], Project]:
    """A project with a backend whose file holds these lines."""

    def make(text: str) -> Project:
        project.configure('dispatch_keys = ["NPU"]')
        project.append("arrays.py", textwrap.dedent(ARRAYS))
        project.append("npu_kernels.py", textwrap.dedent(KERNELS))
        project.append("npu.yaml", textwrap.dedent(text))
        return project

    return make


@pytest.fixture
def toynpu(tmp_path: Path) -> Project:
    """A copy of the example."""
    folder = tmp_path / "backend"
    shutil.copytree(ROOT / "examples/backend", folder, ignore=shutil.ignore_patterns("_generated", "__pycache__"))
    return Project(folder, "toynpu")


ERRORS = Path(__file__).parent / "backend_errors"


@pytest.mark.parametrize("name", sorted(path.name for path in ERRORS.iterdir()))
def test_error_messages(backend: Callable[[str], Project], name: str, update_goldens: bool) -> None:
    """A file of a backend with mistakes, and the message that it gets; `--update-goldens` writes expected.txt."""
    case = ERRORS / name
    finished = backend((case / "npu.yaml").read_text()).generate()
    assert finished.returncode == 1
    if update_goldens:
        (case / "expected.txt").write_text(finished.stderr)
    assert finished.stderr == (case / "expected.txt").read_text()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('dispatch_keys = ["CPU"]', "the dispatch key 'CPU' is not free"),
        ('dispatch_keys = ["XLA"]', "hint: PyTorch has it: choose another name, such as 'MyXLA'"),
        ('dispatch_keys = "NPU"', "'dispatch_keys' is to be a list of names such as \"NPU\""),
        ('dispatch_keys = ["NPU"]', "no file 'npu.yaml' in the package, which lists the kernels of 'NPU'"),
        ('dispatch_keys = ["NPU"]\nbase = "none"', "a backend is one of Gradwright's operators"),
    ],
)
def test_errors_of_the_table(project: Project, line: str, message: str) -> None:
    project.configure(line)
    finished = project.generate()
    assert finished.returncode == 1
    assert message in finished.stderr


def test_a_key_of_pytorchs_that_a_package_may_bring(project: Project) -> None:
    project.configure('dispatch_keys = ["CUDA"]')
    project.append("arrays.py", textwrap.dedent(ARRAYS))
    project.append("cuda.yaml", "backend: CUDA\narrays: arrays\n")
    assert project.generate().returncode == 0
    program = """
        import gradwright as torch, mylib
        try:
            torch.ones(1).to("cuda")
        except TypeError as error:
            print(error)
    """
    assert "CUDA has no elements of type float32" in project.run("-c", textwrap.dedent(program)).stdout


LAUNCHER = """
    class Launcher:
        def __init__(self, file, kernels):
            self.kernels = kernels

        def __call__(self, kernel, operator, tensors, numbers, otherwise):
            return kernel, numbers, self.kernels[kernel]
"""


UNCHANGED = """if True:
    from pathlib import Path
    from codegen import output
    from codegen.project import read_project
    from codegen.source import Diagnostics
    paths = read_project(Path("pyproject.toml").resolve(), Diagnostics())
    print(*("unchanged" for target in ["cuda"] if output.unchanged(paths.for_target(target), target)))
"""


def test_kernels_in_cuda(backend: Callable[[str], Project]) -> None:
    project = backend("backend: NPU\narrays: arrays\narray_api: True\nelementwise: fused\n")
    assert "is to" not in (lacking := project.generate().stderr)
    assert "mylib/npu.yaml:4:14: error: kernels in CUDA are what the target 'cuda' writes" in lacking
    project.configure('targets = ["cuda"]')
    assert "no module 'fused': there is no mylib/fused.py" in project.generate().stderr
    project.append("fused.py", textwrap.dedent(LAUNCHER))
    finished = project.generate()
    assert finished.returncode == 0, finished.stderr
    assert '"elu": _mylib__generated_cuda_kernels.elu_default' in project.file("_generated/backend_npu.py").read_text()
    assert "__global__ void elu_default(" in project.file("_generated/cuda/kernels.cu").read_text()
    program = "from mylib._generated.cuda import kernels; print(kernels.elu_default(0, 2, 3, 4))"
    assert project.run("-c", program).stdout == "('elu_default', (4, 6, 3), (1, 3, False, False))\n"
    assert project.generate("--check").returncode == 0
    assert " 0 of " in project.generate().stdout
    assert "unchanged" in project.output(UNCHANGED)


def test_kernels_in_cuda_for_a_device_of_another_package(project: Project) -> None:
    project.configure('targets = ["cuda"]')
    assert project.generate().returncode == 0
    generated = project.file("_generated/cuda/kernels.py").read_text()
    assert "from gradwright_cupy.fused import Launcher" in generated
    assert project.output("import mylib, gradwright as t; print(mylib.squareplus(t.zeros(1)).item())").strip() == "1.0"


def test_the_whole_set_of_kernels_over_the_array_api(backend: Callable[[str], Project]) -> None:
    project = backend("backend: NPU\narrays: arrays\narray_api: True\nkernels: npu_kernels\nsupported:\n- relu\n")
    assert project.generate().returncode == 0
    generated = project.file("_generated/backend_npu.py").read_text()
    assert '"relu": _mylib_npu_kernels.relu' in generated
    assert '"sort.stable": _runtime_operators_array_api_reductions.sort_stable' in generated
    assert generated.count("_runtime_operators_array_api_") > 200


def test_a_file_of_somebody_elses_back_end(backend: Callable[[str], Project]) -> None:
    listed = "supported:\n- relu\n- no_such.op\n- linear\n- lgamma\nfull_codegen:\n- mm: fast\n- nor.this\n"
    text = (
        f"backend: NPU\narrays: arrays\nkernels: npu_kernels\ncpp_namespace: at\nsymint:\n- relu\nlax: True\n{listed}"
    )
    project = backend(text)
    finished = project.generate()
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.splitlines()[:4] == [
        "mylib/npu.yaml: without a meaning here: cpp_namespace, symint",
        "mylib/npu.yaml: left out, because there is no such operator (2): no_such.op, nor.this",
        "mylib/npu.yaml: left out, because they are made of other operators (1): linear",
        "mylib/npu.yaml: left out, because they have no kernel (1): lgamma",
    ]
    generated = project.file("_generated/backend_npu.py").read_text()
    assert '"mm": _mylib_npu_kernels.fast' in generated
    assert '"relu": _mylib_npu_kernels.relu' in generated
    project.file("npu.yaml").write_text(text.replace("lax: True\n", ""))
    assert project.generate().stderr.endswith("\n4 errors\n")


def test_every_kernel_over_the_array_api_is_of_an_operator() -> None:
    from codegen.bind.backends import _misfit, _of_name
    from codegen.input_files import read_operators
    from codegen.paths import ARRAY_API, project_paths
    from codegen.python_source import FunctionIndex, SourcePart
    from codegen.source import Diagnostics

    paths, diagnostics = project_paths(), Diagnostics()
    functions, _ = read_operators(paths.native_functions, paths.derivatives, paths, diagnostics)
    index = FunctionIndex([SourcePart(paths.operators_part(ARRAY_API), diagnostics)])
    kernels = {f.name for f in index if f.parameters and f.parameters[0].name == "xp" and "._" not in f.module}
    pairs = [(function, _of_name(index, function)) for function in functions or ()]
    fitting = {kernel.name for function, kernel in pairs if kernel and _misfit(kernel, function, True) is None}
    assert {name for name in kernels - fitting if not name.startswith("_")} == set()


def test_the_example(toynpu: Project) -> None:
    finished = toynpu.generate()
    assert finished.returncode == 0, finished.stderr
    assert toynpu.generate("--check").returncode == 0
    for native in ("0", ""):
        tested = toynpu.run("-m", "pytest", "-q", GRADWRIGHT_NATIVE=native)
        assert tested.returncode == 0, tested.stdout


def test_a_file_of_a_backend_that_changed_is_seen(toynpu: Project) -> None:
    assert toynpu.generate().returncode == 0
    toynpu.append("npu.yaml", "- exp\n")
    assert toynpu.generate("--check").returncode == 1
    imported = toynpu.run("-c", "import toynpu")
    assert "was made from other YAML; run in its project: gradwright" in imported.stderr
    assert toynpu.generate().returncode == 0
    assert toynpu.output("import gradwright as g, toynpu; print(g.ones(1, device='npu').exp().item() > 2.7)") == "True"


def test_coverage(toynpu: Project) -> None:
    finished = toynpu.generate("coverage", "--backend", "NPU", "--json")
    rows = {row["name"]: row for row in json.loads(finished.stdout)}
    assert rows["tanh"] == {"name": "tanh", "how": "kernel", "lacks": [], "backward_lacks": []}
    assert rows["div.Tensor"]["backward_lacks"] == ["neg"]
    assert rows["linear"]["how"] == "composite"
    assert "bmm" in rows["matmul"]["lacks"]
    assert rows["matmul"]["how"] == "in part"
    assert rows["square"] == {"name": "square", "how": "missing", "lacks": ["pow.Tensor_Scalar"], "backward_lacks": []}
    assert rows["exp"]["how"] == "missing"
    assert rows["squareplus"]["how"] == "kernel"
    plain = toynpu.generate("coverage", "--backend", "NPU", "--missing")
    assert "exp\tmissing\t-\t-" in plain.stdout
    assert "tanh\tkernel" not in plain.stdout
    assert re.search(r"NPU: of \d+ operators 25 have kernels", plain.stderr)
    assert "there is NPU" in toynpu.generate("coverage", "--backend", "TPU").stderr
    nothing = toynpu.generate("coverage")
    assert nothing.returncode == 1
    assert "hint: 'verify --update-ledger' writes it" in nothing.stderr


def test_a_backend_whose_name_another_has_is_refused(toynpu: Project) -> None:
    assert toynpu.generate().returncode == 0
    program = """
import runtime.base.devices as devices
devices.by_key["NPU"] = object()
import toynpu
"""
    assert "the dispatch key NPU and the device 'npu' are not free" in toynpu.run("-c", program).stderr

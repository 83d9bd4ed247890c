"""`verify --derivatives`: PyTorch's own formulas, proven on the kernels that are here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.autograd.forward_ad as fwAD
from torch.autograd.gradcheck import GradcheckError

from codegen.commands.main import main
from tools.upstream import paths_of, words_of


def proven(words: list[str], operators: tuple[str, ...], file: Path) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit status, and the status of each property by operator."""
    status = main(["verify", *operators, *words, "--jobs", "1", "--json", str(file)])
    found: dict[str, dict[str, str]] = {}
    for cell in json.loads(file.read_text())["cells"]:
        found.setdefault(cell["operator"], {})[cell["property"]] = cell["status"]
    return status, found


def test_formulas_of_pytorch_are_proven(packaged: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    operators = ("tanh", "mul.Tensor", "mm", "lerp.Tensor", "_log_softmax", "cumsum")
    status, found = proven(words_of(paths_of(packaged)), operators, tmp_path / "found.json")
    assert (status, set(found)) == (0, set(operators))
    for name, cells in found.items():
        assert cells["gradient"] == "proven", name
        assert cells["second"] == "proven", name
        assert "native" not in cells
        assert not {"refuted", "skipped"} & set(cells.values()), name
    assert re.search(
        r"^\d+ of \d+ operators with formulas in \S+ have kernels and samples here$", capfd.readouterr().err, re.M
    )


def test_what_is_wrong_is_shown_in_their_file(
    packaged: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    paths = paths_of(packaged)
    text = paths.derivatives.read_text(encoding="utf-8")
    entry = re.search(r"^- name: tanh\(.*\n  self: (.+)$", text, re.M)
    assert entry is not None
    wrong = tmp_path / "derivatives.yaml"
    wrong.write_text(f"{text[: entry.start(1)]}-{text[entry.start(1) :]}", encoding="utf-8")
    words = words_of(paths)
    words[words.index("--derivatives") + 1] = str(wrong)
    out = tmp_path / "out"
    status, found = proven([*words, "--out", str(out), "--property", "gradient"], ("tanh",), tmp_path / "found.json")
    assert (status, found) == (1, {"tanh": {"gradient": "refuted"}})
    printed = capfd.readouterr().err
    line = text.count("\n", 0, entry.start(1)) + 1
    assert re.search(rf"derivatives\.yaml:{line}:\d+: error: gradient of 'self'", printed)
    assert f"os.environ['GRADWRIGHT_GENERATED'] = '{out}'; from gradwright.verify import check" in printed


def test_what_is_not_implemented_is_neither_wrong_nor_proven(packaged: Path, tmp_path: Path) -> None:
    """Its second derivative calls `not_implemented`: it has none."""
    words = [*words_of(paths_of(packaged)), "--property", "gradient", "--property", "second"]
    status, found = proven(words, ("_cdist_forward",), tmp_path / "found.json")
    assert (status, found) == (0, {"_cdist_forward": {"gradient": "proven", "second": "none"}})


# Formulas of PyTorch that are wrong (docs/deviations.md), each with a property that shows it.
REFUTED = {
    "polar": "gradient",
    "embedding_dense_backward": "gradient",
    "scatter.src": "gradient",
    "scatter_add": "gradient",
    "silu": "gradient_complex",
    "index_add": "gradient_complex",
    "fmax": "boundary",
    "masked_scatter": "modes",
    "_linalg_det": "modes",
    "_linalg_slogdet": "modes",
    "_linalg_solve_ex": "modes",
}


def test_wrong_formulas_of_pytorch_are_refuted(packaged: Path, tmp_path: Path) -> None:
    words = [word for name in dict.fromkeys(REFUTED.values()) for word in ("--property", name)]
    status, found = proven([*words_of(paths_of(packaged)), *words], tuple(REFUTED), tmp_path / "found.json")
    assert status == 1
    assert {name: found[name][each] for name, each in REFUTED.items()} == dict.fromkeys(REFUTED, "refuted")


def test_they_are_wrong_in_pytorch_itself() -> None:
    at = torch.tensor([1, 3])
    x, source = (torch.ones(3, n, dtype=torch.complex128, requires_grad=True) for n in (4, 2))
    with pytest.raises(GradcheckError):
        torch.autograd.gradcheck(lambda x, source: x.index_add(1, at, source, alpha=1j), (x, source))
    one = torch.ones((), dtype=torch.float64, requires_grad=True)
    torch.fmax(one, torch.ones((), dtype=torch.float64)).backward()
    assert one.grad == 1
    with fwAD.dual_level():
        assert tangent(torch.fmax(fwAD.make_dual(one.detach(), one.detach()), torch.ones((), dtype=torch.float64))) == 0


@pytest.mark.parametrize("function", [torch.linalg.det, lambda x: torch.linalg.solve(x, torch.ones_like(x))])
def test_backward_over_forward_takes_factors_for_constants(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    point = torch.tensor([[2.0, 0.5], [-0.25, 1.5]], dtype=torch.float64, requires_grad=True)
    one, other = torch.tensor([[[1.0, 0.5], [2.0, -1.0]], [[0.5, 1.5], [-1.0, 1.0]]], dtype=torch.float64)

    def along(x: torch.Tensor) -> torch.Tensor:
        with fwAD.dual_level():
            return tangent(function(fwAD.make_dual(x, one))).sum()

    step = 1e-5
    wanted = (along(point.detach() + step * other) - along(point.detach() - step * other)) / (2 * step)
    (gradient,) = torch.autograd.grad(along(point), point)
    assert abs((gradient * other).sum() - wanted) > 0.1


def tangent(dual: torch.Tensor) -> torch.Tensor:
    found = fwAD.unpack_dual(dual).tangent
    assert found is not None
    return found


def test_nothing_to_prove(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    functions, formulas = tmp_path / "functions.yaml", tmp_path / "derivatives.yaml"
    functions.write_text("- func: far(Tensor self) -> Tensor\n  dispatch: {CPU: far_cpu}\n", encoding="utf-8")
    formulas.write_text("- name: far(Tensor self) -> Tensor\n  self: grad\n", encoding="utf-8")
    assert main(["verify", "--native-functions", str(functions), "--derivatives", str(formulas)]) == 1
    assert "error: 0 of 1 operator with formulas in" in capsys.readouterr().err


def test_the_ledger_is_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["verify", "--derivatives", str(tmp_path / "derivatives.yaml"), "--ledger"])
    assert "the ledger is of the project's own operators" in capsys.readouterr().err

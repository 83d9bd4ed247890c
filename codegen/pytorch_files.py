"""Where PyTorch's YAML lies: in an installed torchgen, or in a folder that is named."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

# Below a folder: the YAML in an installed torchgen, whose wheel has the header beside it, and in PyTorch's source.
_LAYOUTS = (
    ("ATen/native", "autograd", "../../torch/include/torch/csrc/autograd"),
    ("packaged/ATen/native", "packaged/autograd", "../torch/include/torch/csrc/autograd"),
    ("aten/src/ATen/native", "tools/autograd", "torch/csrc/autograd"),
)


@dataclass(frozen=True, slots=True)
class PytorchFiles:
    """The files of a release; `header`, which declares its helpers, need not be there."""

    native_functions: Path
    derivatives: Path
    tags: Path
    header: Path | None


def installed_pytorch() -> PytorchFiles | None:
    """The files of the torchgen that is installed; None where none is."""
    specification = importlib.util.find_spec("torchgen")
    if specification is None or specification.origin is None:
        return None
    return find_pytorch(Path(specification.origin).parent)


def find_pytorch(folder: Path) -> PytorchFiles | None:
    """The files below a folder, torchgen's, the `packaged` in it, or PyTorch's source; None where there are none."""
    for operators, formulas, headers in _LAYOUTS:
        native = folder / operators
        yaml = native / "native_functions.yaml", folder / formulas / "derivatives.yaml", native / "tags.yaml"
        if all(path.is_file() for path in yaml):
            header = folder / headers / "FunctionsManual.h"
            return PytorchFiles(*yaml, header if header.is_file() else None)
    return None

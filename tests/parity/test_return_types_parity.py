"""Results by name, beside PyTorch's: their classes in `torch.return_types`, with `out=` as well."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from typing import Any

import pytest
import torch

import gradwright

CALLS = """
aminmax(x) | cummax(x, 0) | cummin(x, 0) | frexp(x) | geqrf(x) | histogram(v, 2) | histogramdd(x, [2, 2])
kthvalue(x, 1) | linalg.cholesky_ex(x) | linalg.eig(x) | linalg.eigh(x) | linalg.inv_ex(x) | linalg.ldl_factor(x)
linalg.ldl_factor_ex(x) | linalg.lstsq(x, x) | linalg.lu(x) | linalg.lu_factor(x) | linalg.lu_factor_ex(x)
linalg.qr(x) | linalg.slogdet(x) | linalg.solve_ex(x, x) | linalg.svd(x) | lu_unpack(*linalg.lu_factor(x)) | max(x, 0)
median(x, 0) | min(x, 0) | mode(x, 0) | nanmedian(x, 0) | qr(x) | slogdet(x) | sort(x) | svd(x) | topk(x, 1)
triangular_solve(x, x) | var_mean(x) | unique(x, return_inverse=True) | x.svd() | x.slogdet()
max(x, 0, out=(v[:2], i)) | sort(x, out=(x.clone(), x.long())) | linalg.slogdet(x, out=(v[0], v[1]))
linalg.qr(x, out=(x.clone(), x.clone())) | svd(x, out=(x.clone(), v[:2].clone(), x.clone())) | x.max(0) | x.sort()
"""


def _outcome(library: Any, text: str) -> Any:
    x, v, i = library.tensor([[4.0, 1.0], [1.0, 3.0]]), library.tensor([3.0, 1.0, 2.0]), library.tensor([0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = eval(text, {**vars(library), "linalg": library.linalg, "x": x, "v": v, "i": i, "max": library.max})
    kind = type(out)
    if kind is tuple:
        return "tuple", len(out)
    assert getattr(library.return_types, kind.__name__) is kind
    fields = kind.__match_args__
    assert all(getattr(out, name) is item for name, item in zip(fields, out, strict=True))
    assert type(copy.copy(out)) is kind
    assert type(pickle.loads(pickle.dumps(out))) is kind
    shown = re.sub(r"\bgradwright\b", "torch", repr(out).partition("(")[0])
    return shown, kind.__module__.replace("gradwright", "torch"), fields, kind.n_fields


@pytest.mark.parametrize("text", [text for line in CALLS.strip().splitlines() for text in line.split(" | ")])
def test_class_of_results(text: str) -> None:
    assert _outcome(gradwright, text) == _outcome(torch, text)


@pytest.mark.parametrize("values", ["()", "((1,),)", "(1, 2)", "((1, 2, 3),)", "([1, 2],)"])
def test_making_one(values: str) -> None:
    found = []
    for library in (gradwright, torch):
        try:
            found.append(tuple(library.return_types.max(*eval(values))))
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]


def test_all_of_them_are_listed() -> None:
    listed = {kind.__name__ for kind in gradwright.return_types.all_return_types}
    assert {kind.__name__ for kind in torch.return_types.all_return_types} <= listed
    assert listed <= set(dir(gradwright.return_types))
    with pytest.raises(AttributeError):
        _ = gradwright.return_types.add

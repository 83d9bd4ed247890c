"""Memory that processes share, files that are mapped, and what a dense Tensor answers about other layouts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from support.both import assert_same, assert_same_results


def _in_child(act: Any) -> None:
    """Run a function in a forked process."""
    if (child := os.fork()) == 0:
        try:
            torch.set_num_threads(1)  # a forked process has none of PyTorch's threads, and would wait for them
            act()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def test_is_shared() -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3)
        row = x[1]
        found = [x.is_shared(), row.is_shared(), x.untyped_storage().is_shared()]
        same = x.share_memory_() is x and x.share_memory_() is x
        row += 1
        found += [x.is_shared(), row.is_shared(), x[0].is_shared(), x.clone().is_shared(), x.T.is_shared()]
        found += [x.storage().is_shared(), x.untyped_storage().is_shared(), row.untyped_storage().is_shared()]
        return same, found, x, row

    assert_same_results(body)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_a_view_is_moved_with_its_base(dtype: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(4, 4, dtype=getattr(torch, dtype))
        part = x[1:, ::2]
        part.share_memory_()
        x.zero_()
        return x.is_shared(), part.is_shared(), part, part.stride(), part.storage_offset()

    assert_same_results(body)


def test_a_forked_process_writes() -> None:
    def body(torch: Any) -> Any:
        x, y = torch.zeros(3).share_memory_(), torch.zeros(3)
        _in_child(lambda: (x.fill_(2.0), y.fill_(2.0)))
        return x, y

    assert_same_results(body)


def test_a_module_in_shared_memory() -> None:
    def body(torch: Any) -> Any:
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
        same = model.share_memory() is model
        shared = [each.is_shared() for each in (*model.parameters(), *model.buffers())]

        def learn() -> None:
            model(torch.ones(2, 2)).sum().backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.fill_(3.0)

        _in_child(learn)
        return same, shared, list(model.parameters()), [each.grad for each in model.parameters()]

    assert_same_results(body)


def test_gradients_of_a_shared_leaf() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3, requires_grad=True)
        x.share_memory_()
        (x * x).sum().backward()
        return x, x.grad

    assert_same_results(body)


def test_what_is_not_in_main_memory() -> None:
    assert_same(lambda torch: torch.ones(2, device="meta").share_memory_())


def test_copies_are_not_shared() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2).share_memory_()
        return [each.is_shared() for each in (x.clone(), x + 1, x.detach(), torch.empty_like(x))]

    assert_same_results(body)


# -- files

FILES = [
    "size=6",
    "size=3, dtype=torch.float64",
    "False, 2",
    "size=2, dtype=torch.bool",
    "size=2, dtype=torch.complex64",
    "size=0",
    "",
    "size=7",
    "size=-1",
    "size=6, requires_grad=True",
    "size=6, pin_memory=True",
    "size=6, layout=torch.strided",
    "size=8, shared=True",
]


@pytest.mark.parametrize("args", FILES)
def test_from_file(args: str, tmp_path: Path) -> None:
    def body(torch: Any) -> Any:
        path = tmp_path / torch.__name__
        np.arange(6, dtype=np.float32).tofile(path)
        out = eval(f"torch.from_file(path, {args})", {"torch": torch, "path": str(path)})
        return out, out.is_shared() if "shared" in args else None, path.stat().st_size

    assert_same(body)


@pytest.mark.parametrize("shared", [False, True])
def test_writes_to_mapped_files(shared: bool, tmp_path: Path) -> None:
    def body(torch: Any) -> Any:
        path = tmp_path / torch.__name__
        np.arange(6, dtype=np.float32).tofile(path)
        out = torch.from_file(str(path), shared=shared, size=6)
        out[2:4] = -1.0
        return out, np.fromfile(path, np.float32).tolist()

    assert_same_results(body)


def test_a_shared_file_is_made(tmp_path: Path) -> None:
    def body(torch: Any) -> Any:
        path = tmp_path / torch.__name__
        out = torch.from_file(str(path), shared=True, size=3)
        return out, path.stat().st_size

    assert_same_results(body)


@pytest.mark.parametrize(
    "args", ["'/no/such/file', size=1", "'/no/such/file', shared=True, size=1", "1", "'/x', size=1, device='meta'"]
)
def test_files_that_cannot_be_mapped(args: str) -> None:
    assert_same(lambda torch: eval(f"torch.from_file({args})", {"torch": torch}))


# -- questions

CALLS = [
    *("to_dense()", "to_dense(torch.float64)", "to_dense(dtype=torch.int64)", "to_dense(masked_grad=True)"),
    *("dense_dim()", "sparse_dim()", "is_coalesced()", "coalesce()", "indices()", "values()", "crow_indices()"),
    *("col_indices()", "ccol_indices()", "row_indices()", "dequantize()", "half().dequantize()"),
    *("long().dequantize()", "is_distributed()", "const_data_ptr() - x.data_ptr()"),
    *("module_load(torch.zeros(2, 3))", "module_load(torch.zeros(3))"),
    *("module_load(y, assign=True)", "requires_grad_().module_load(y)", "module_load(torch.ones(5))"),
]


@pytest.mark.parametrize("call", CALLS)
def test_questions_to_a_dense_tensor(call: str) -> None:
    def body(torch: Any) -> Any:
        x, y = torch.arange(6.0).reshape(2, 3), torch.zeros(2, 3, requires_grad=True)
        return eval(f"x.{call}", {"torch": torch, "x": x, "y": y}), x

    assert_same(body)


def test_a_dense_tensor_is_what_it_stands_for() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2)
        found = [x.to_dense() is x, x.to_dense(torch.float32) is x, x.dequantize() is x, torch.dequantize(x) is x]
        return found, torch.is_distributed(x), torch.thread_safe_generator()

    assert_same_results(body)


SET: dict[str, Any] = {
    "a view of itself": lambda torch, x: x.set_(x.detach()[1:]),
    "another": lambda torch, x: x.set_(torch.ones(2, 2)),
    "a result": lambda torch, x: x.set_(torch.ones(2, requires_grad=True) * 2),
    "nothing": lambda torch, x: x.set_(),
    "storage": lambda torch, x: x.set_(x.untyped_storage(), 1, (2,)),
    "another dtype": lambda torch, x: x.set_(torch.ones(2).double()),
}


@pytest.mark.parametrize("change", SET.values(), ids=SET)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_leaf_takes_other_memory_where_nothing_is_recorded(change: Any, recorded: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.nn.Parameter(torch.arange(3.0))
        before = x.sum()
        with torch.set_grad_enabled(recorded):
            change(torch, x)
        (x * 2).sum().backward()
        return x, x.is_leaf, x.stride(), x.storage_offset(), x._version, x.grad, before

    assert_same(body)


def test_other_memory_is_a_write() -> None:
    def body(torch: Any) -> Any:
        base = torch.arange(4.0)
        view = base[1:]
        view.set_(torch.zeros(2))
        base += 1
        own = torch.arange(3.0)
        own.set_(own[1:])
        result = torch.ones(3, requires_grad=True) * 1
        result.set_(torch.zeros(2))
        return view, base._version, view._version, own, own._version, result

    assert_same_results(body)


@pytest.mark.parametrize("write", ["set_", "resize_"])
def test_what_was_saved_is_missed_where_memory_was_taken(write: str) -> None:
    def body(torch: Any) -> Any:
        x, y = torch.ones(3, requires_grad=True), torch.ones(3)
        z = x * y
        y.set_(torch.zeros(3)) if write == "set_" else y.resize_(2)
        z.sum().backward()

    assert_same(body, "modified by an inplace operation")


def test_resizing_counts_where_the_sizes_change() -> None:
    def body(torch: Any) -> Any:
        x, part = torch.arange(6.0), torch.arange(6.0)[1:3]
        versions = [x._version]
        for sizes in ((2, 2), (2, 2), (5, 5), (3,)):
            x.resize_(sizes)
            versions.append(x._version)
        turned = torch.arange(6.0).reshape(2, 3).t()
        turned.resize_(3, 2)
        part.resize_(4)
        return versions, turned, turned.stride(), turned._version, part, part._version

    assert_same_results(body)


def test_resizing_as_another() -> None:
    def body(torch: Any) -> Any:
        images = torch.zeros(2, 3, 4, 5)
        last = images.to(memory_format=torch.channels_last)
        formats = [{}, *({"memory_format": getattr(torch, f"{name}_format")} for name in ("preserve", "contiguous"))]
        found = []
        for template in (images, last, last[:, :, ::2], images[..., :1, :1], torch.zeros(2, 3).t()):
            found += [torch.empty(0).resize_as_(template, **how).stride() for how in formats]
        same = torch.zeros(2, 3, 4, 5)
        same.resize_as_(last, memory_format=torch.preserve_format)
        return found, same.stride(), same._version

    assert_same_results(body)

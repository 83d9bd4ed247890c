"""Memory that forked processes share, files that are mapped, futures between threads, and `cond`."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

import gradwright as torch

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_a_forked_process_writes() -> None:
    base = torch.zeros(2, 3)
    row = base[1]
    row.share_memory_()
    if (child := os.fork()) == 0:
        base[1] = 5.0
        os._exit(0)
    os.waitpid(child, 0)
    assert row.tolist() == [5.0] * 3
    assert base.is_shared()
    assert base.tolist() == [[0.0] * 3, [5.0] * 3]


def test_a_module_learns_in_shared_memory() -> None:
    layer = torch.nn.Linear(2, 1).share_memory()
    torch.nn.init.ones_(layer.weight)
    layer(torch.ones(1, 2)).sum().backward()
    torch.optim.SGD(layer.parameters(), lr=1.0).step()
    assert layer.weight.is_shared()
    assert layer.weight.tolist() == [[0.0, 0.0]]


def test_writes_go_to_a_shared_file(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.arange(4.0, dtype=np.float32).tofile(path)
    torch.from_file(str(path), size=4)[0] = 9.0
    assert np.fromfile(path, np.float32).tolist() == [0.0, 1.0, 2.0, 3.0]
    torch.from_file(str(path), shared=True, size=5)[4] = 9.0
    assert np.fromfile(path, np.float32).tolist() == [0.0, 1.0, 2.0, 3.0, 9.0]
    with pytest.raises(RuntimeError, match="is smaller than"):
        torch.from_file(str(path), size=6)


def test_a_value_of_another_thread() -> None:
    future = torch.futures.Future[int]()
    doubled = future.then(lambda done: done.value() * 2)
    thread = threading.Thread(target=future.set_result, args=(21,))
    thread.start()
    assert doubled.wait() == 42
    thread.join()
    assert torch.futures.wait_all([future, doubled]) == [21, 42]


def test_gradients_flow_through_the_branch_that_is_chosen() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    for sign, slope in ((1.0, 3.0), (-1.0, 5.0)):
        out = torch.cond(torch.tensor(sign) > 0, lambda x: x * 3, lambda x: x * 5, (x,))
        assert torch.autograd.grad(out.sum(), x)[0].tolist() == [slope, slope]

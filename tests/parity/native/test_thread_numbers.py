"""set_num_threads and get_num_threads: the same answers and errors as PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gradwright

VALUES = [1, 3, np.int32(2), 0, -1, 2.0, True, "a", None, 2**40, -(2**40)]


def outcome(library: Any, *args: Any, **kwargs: Any) -> Any:
    before = library.get_num_threads()
    try:
        library.set_num_threads(*args, **kwargs)
        return library.get_num_threads()
    except (RuntimeError, ValueError) as error:
        return type(error), str(error)
    except TypeError:
        return TypeError
    finally:
        library.set_num_threads(before)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values(value: Any) -> None:
    assert outcome(gradwright, value) == outcome(torch, value)


def test_calls() -> None:
    for args, kwargs in (((), {}), ((1, 2), {}), ((), {"num_threads": 1})):
        assert outcome(gradwright, *args, **kwargs) == outcome(torch, *args, **kwargs)
    for library in (gradwright, torch):
        with pytest.raises(TypeError):
            library.get_num_threads(1)

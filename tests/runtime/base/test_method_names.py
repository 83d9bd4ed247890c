"""What the generator knows of Tensor's methods that are no operators."""

from __future__ import annotations

from codegen.tensor_methods import TENSOR_METHODS
from gradwright import Tensor
from runtime.call import registered
from runtime.call.facts import BUILT_IN


def test_the_generator_knows_the_methods_that_are_no_operators() -> None:
    operators = {name.partition(".")[0] for name in registered.generated_in(BUILT_IN)}
    methods = {name for name in dir(Tensor) if not name.startswith("_") and callable(getattr(Tensor, name, None))}
    assert len(methods & operators) > 400
    assert methods - operators == TENSOR_METHODS

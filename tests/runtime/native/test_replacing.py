"""Native callables take the places of generated functions."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from runtime.load.replacing import replace


def module(name: str, **values: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(values)
    return made


def test_every_place_is_found() -> None:
    def mul_Tensor() -> None: ...
    def mul() -> None: ...
    def choosing() -> None: ...
    def native_mul_Tensor() -> None: ...
    def native_mul() -> None: ...

    mul.Tensor = mul_Tensor  # type: ignore[attr-defined]
    native_mul.Tensor = mul_Tensor  # type: ignore[attr-defined]
    choosing.Tensor = mul_Tensor  # type: ignore[attr-defined]
    operation = object()
    operators = module("operators", mul_Tensor=mul_Tensor, mul_Tensor_op=operation)
    packets = module(
        "packets", mul=mul, mul_overloads=((operation, mul_Tensor),), PACKETS={"mul": mul, "choosing": choosing}
    )
    methods = module("methods", METHODS={"mul": mul, "__rmul__": choosing})
    package = module("generated", mul=mul)
    replace({mul_Tensor: native_mul_Tensor, mul: native_mul}, package, operators, packets, methods)
    assert package.mul is native_mul
    assert operators.mul_Tensor is native_mul_Tensor
    assert operators.mul_Tensor_op is operation
    assert packets.mul is native_mul
    assert {"mul": native_mul, "choosing": choosing} == packets.PACKETS
    assert packets.mul_overloads == ((operation, native_mul_Tensor),)
    assert {"mul": native_mul, "__rmul__": choosing} == methods.METHODS
    assert native_mul.Tensor is choosing.Tensor is native_mul_Tensor  # type: ignore[attr-defined]
    assert isinstance(mul.Tensor, FunctionType)  # type: ignore[attr-defined]
    assert mul.Tensor is mul_Tensor  # type: ignore[attr-defined]

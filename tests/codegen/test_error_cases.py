"""Every kind of mistake that the generator promises to find has a case in tests/codegen/errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.pipeline import Result

ERRORS = Path(__file__).parent / "errors"
KINDS = {
    "wrong type": ("variants_list", "tags_mapping", "formula_mapping", "entry_not_a_mapping"),
    "unknown key": ("key_unknown", "key_unknown_without_hint"),
    "duplicate key": ("key_duplicate", "key_duplicate_dispatch", "key_duplicate_formula"),
    "duplicate entry": ("entry_duplicate", "entry_duplicate_derivative"),
    "empty file": ("file_empty", "file_only_comments"),
    "not a list": ("file_not_a_list", "file_is_text"),
    "tabs": ("yaml_tab", "yaml_tab_in_table"),
    "invalid UTF-8": ("invalid_utf8",),
    "schema syntax": ("func_not_a_schema", "name_without_schema"),
    "unknown type": ("func_unknown_type",),
    "unbalanced parentheses": ("formula_syntax", "yaml_unbalanced_bracket", "formula_two_mistakes"),
    "unknown name": ("unknown_name", "unknown_name_in_folded_formula"),
    "unknown function": ("unknown_function",),
    "unknown method": ("unknown_method",),
    "no overload fits": ("no_overload_fits",),
    "wrong argument count": ("argument_count", "helper_argument_count"),
    "wrong argument type": ("argument_type", "helper_argument_type"),
    "bare string": ("bare_string",),
    "grads[i] out of range": ("grads_out_of_range", "grads_out_of_range_of_two"),
    "grad and grads mixed": ("grad_and_grads", "grad_and_named_grad"),
    "formula for a non-argument": ("not_an_argument",),
    "input without formula": ("no_formula",),
    "output_differentiability of the wrong length": ("output_differentiability_length",),
    "contradicting alias annotations": ("func_alias_contradiction",),
    "kernel that does not exist": ("kernel_missing", "no_dispatch_no_composite"),
    "kernel that does not fit": ("kernel_arity", "kernel_parameters", "kernel_keyword_only"),
    "batching rule that does not exist": ("batching_unknown", "batching_not_a_name"),
    "not linear: grad + 1": ("grad_plus_one", "grad_plus_tensor"),
    "not linear: grad * grad": ("grad_times_grad",),
    "not linear: gradient never used": ("grad_never_used",),
    "not linear in the tangents": ("tangent_squared",),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kind_has_cases(kind: str) -> None:
    missing = [case for case in KINDS[kind] if not list(ERRORS.glob(f"*/{case}/expected.txt"))]
    assert missing == []


FUNCTION = "- func: sin(Tensor self) -> Tensor\n  dispatch:\n    CPU: sin\n"
FORMULA = "- name: sin(Tensor self) -> Tensor\n  self: twice(grad)\n"
KERNEL = "def sin(self):\n    return self\n"
HELPER = "def twice(grad: Tensor) -> Tensor:\n    return grad\n"
BOTH = "<<<<<<< HEAD\n{}=======\n{}>>>>>>> theirs\n"
CONFLICT = "a merge conflict: both sides stand here"


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        ((FUNCTION, FORMULA, HELPER, KERNEL.replace(")", "")), "kernels/small.py", "this Python file does not parse"),
        ((FUNCTION, FORMULA, HELPER.replace(")", ""), KERNEL), "helpers/small.py", "this Python file does not parse"),
        ((FUNCTION, FORMULA, HELPER, BOTH.format(KERNEL, KERNEL)), "kernels/small.py", CONFLICT),
        ((FUNCTION, FORMULA, BOTH.format(HELPER, HELPER), KERNEL), "helpers/small.py", CONFLICT),
        ((BOTH.format(FUNCTION, FUNCTION), FORMULA, HELPER, KERNEL), "native_functions.yaml", CONFLICT),
        ((FUNCTION, BOTH.format("", FORMULA), HELPER, KERNEL), "derivatives.yaml", CONFLICT),
    ],
)
def test_what_can_not_be_read_is_the_only_error(
    analysed: Callable[..., Result], files: tuple[str, ...], path: str, message: str
) -> None:
    (error,) = analysed(*files).diagnostics.items
    assert error.span.file.path.endswith(path)
    assert error.message.startswith(message)

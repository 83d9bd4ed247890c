"""Names of modules in a checkout and in a wheel."""

from __future__ import annotations

import pytest

from codegen.module_names import name_here, short_name, with_long_names


def test_imports_of_python_get_long_names() -> None:
    text = (
        "from runtime.base import dtypes\nimport generated.operators as ops\n    from codegen import paths\n"
        "from runtime_tools import x\nimport numpy\n"
        "x = 'from runtime import'\n"
    )
    assert with_long_names(text, ".py") == (
        "from gradwright.runtime.base import dtypes\nimport gradwright.generated.operators as ops\n"
        "    from gradwright.codegen import paths\nfrom runtime_tools import x\nimport numpy\n"
        "x = 'from runtime import'\n"
    )


def test_texts_of_cpp_get_long_names() -> None:
    text = 'Name a = {"generated.operators", "add"};  // of "runtime_tools.x", runtime.base\nName b = {"generated"};\n'
    assert with_long_names(text, ".cpp") == (
        'Name a = {"gradwright.generated.operators", "add"};  // of "runtime_tools.x", runtime.base\n'
        'Name b = {"gradwright.generated"};\n'
    )


def test_texts_of_other_kinds_stay() -> None:
    assert with_long_names("from runtime import ops", ".md") == "from runtime import ops"


@pytest.mark.parametrize("line", ["import runtime", "    import generated.nodes  # late"])
def test_an_import_that_binds_the_first_part_of_a_name_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"write 'import \.\.\. as \.\.\.' instead of 'import "):
        with_long_names(f"x = 1\n{line}\n", ".py")


def test_short_names_and_those_of_this_copy() -> None:
    assert short_name("gradwright.runtime.base.tensor") == "runtime.base.tensor"
    assert short_name("gradwright.nn") == "gradwright.nn"
    assert short_name("mylib.kernels") == "mylib.kernels"
    assert name_here("generated") == "generated"  # tests run in a checkout
    assert name_here("mylib._generated") == "mylib._generated"

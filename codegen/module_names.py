"""Names of this project's modules: `runtime.base.tensor` in a checkout, `gradwright.runtime.base.tensor` in a wheel.

A checkout has the packages side by side; a wheel has one name in site-packages, and the others lie below it. Sources
and the generator know modules by their names in a checkout. What a wheel or another project imports has the long names,
which work in a checkout, too (`gradwright/names.py`).
"""

from __future__ import annotations

import re

PUBLIC_PACKAGE = "gradwright"
# The packages that lie below the public one in a wheel.
INNER_PACKAGES = ("codegen", "generated", "runtime")

# What stands before the names of this copy's inner packages: nothing in a checkout, "gradwright." in a wheel.
PREFIX = __name__.removesuffix("codegen.module_names")
# The names of this copy's inner packages.
GENERATED, RUNTIME = f"{PREFIX}generated", f"{PREFIX}runtime"

_INNER = "|".join(INNER_PACKAGES)
_IMPORT = re.compile(rf"^(\s*(?:from|import) )(?=(?:{_INNER})\b)", re.MULTILINE)
# Binds the first part of the name, which is another part where the name is longer.
_UNBOUND = re.compile(rf"^\s*import (?:{_INNER})[\w.]*(?! as )\s*(?:#.*)?$", re.MULTILINE)
_QUOTED = re.compile(rf'"(?=(?:{_INNER})[".])')


def with_long_names(text: str, suffix: str) -> str:
    """The text of a Python or C++ file that imports modules by the names that they have in a wheel.

    Args:
        text: the source, with the names of a checkout.
        suffix: the end of the file's name, such as `.py`; text of other kinds of files is given back as it is.

    Raises:
        ValueError: it has `import runtime` without `as`, which would bind another name.
    """
    if suffix in (".py", ".pyi"):
        unbound = _UNBOUND.search(text)
        if unbound is not None:
            raise ValueError(f"write 'import ... as ...' instead of '{unbound[0].strip()}'")
        return _IMPORT.sub(rf"\1{PUBLIC_PACKAGE}.", text)
    return _QUOTED.sub(f'"{PUBLIC_PACKAGE}.', text) if suffix == ".cpp" else text


def short_name(module: str) -> str:
    """The name that a module has in a checkout, for either of its names; others are given back as they are."""
    rest = module.removeprefix(f"{PUBLIC_PACKAGE}.")
    return rest if rest.partition(".")[0] in INNER_PACKAGES else module


def name_here(module: str) -> str:
    """The name that a module has in this copy, for the one that it has in a checkout."""
    return f"{PREFIX}{module}" if module.partition(".")[0] in INNER_PACKAGES else module

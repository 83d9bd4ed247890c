"""What has a name in this package and lies elsewhere: modules of the engine that PyTorch has too, and in a checkout the
packages that a wheel has below this one.
"""

from __future__ import annotations

from codegen.module_names import INNER_PACKAGES, PREFIX, PUBLIC_PACKAGE, RUNTIME

# Modules by the names that they have here.
ALIASES = {
    **{name: f"{RUNTIME}.{name}" for name in ("ops", "random")},
    **{name: f"{RUNTIME}.operators.{name}" for name in ("functional", "sparse")},
}
if not PREFIX:
    ALIASES |= {name: name for name in INNER_PACKAGES}


def first_name(name: str) -> str | None:
    """What a module is called whose second name this is; None where it is none."""
    head, _, rest = name.partition(".")
    part, dot, inner = rest.partition(".")
    return f"{ALIASES[part]}{dot}{inner}" if head == PUBLIC_PACKAGE and part in ALIASES else None

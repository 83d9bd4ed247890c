"""Functions over any namespace `xp` as functions over the module `jnp`."""

from __future__ import annotations

import re

_PARAMETER = re.compile(r"(\(\s*)xp(?:: Namespace)?(?:,\s*|(?=\)))")
_ATTRIBUTE = re.compile(r"\bxp\.")
_LEFT = re.compile(r"\bxp\b")


def over_jnp(text: str) -> str | None:
    """The text with `jnp.sum` for `xp.sum`, in which nothing takes `xp`; None where it is used in other ways.

    No variable of what is written is called so: see `WORDS` and `RESERVED` of the target of rules.
    """
    changed = _ATTRIBUTE.sub("jnp.", _PARAMETER.sub(r"\1", text))
    return None if _LEFT.search(changed) else changed

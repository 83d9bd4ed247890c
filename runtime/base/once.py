"""State of shared objects that is made on first use: published in one step, so that threads agree on what is there.

"Look whether it is there, make it, put it there" loses what a thread does to its own when another one came in between:
a gradient, a hook, a count of writes. So whoever makes something makes it wholly, offers it here, and goes on with what
is there then, which may be another's.
"""

from __future__ import annotations

import threading
from typing import Any

_lock = threading.RLock()


def publish(owner: Any, name: str, made: Any, instead_of: object = None) -> Any:
    """Put `made` into an attribute that still is `instead_of`.

    Returns:
        What the attribute is now: `made`, or what another thread put there first.
    """
    with _lock:
        known = getattr(owner, name)
        if known is not instead_of:
            return known
        setattr(owner, name, made)
        return made

from typing import Any

from generated.packets import *  # noqa: F403

aten: Any

def __getattr__(name: str) -> Any: ...

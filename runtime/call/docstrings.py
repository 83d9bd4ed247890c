"""Docstrings of packets, which the generator leaves in a text file beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from codegen.inputs import DOCSTRING_END, DOCSTRINGS


def document(packets: Mapping[str, Callable[..., Any]], module: str) -> None:
    """Give packets, and overloads that are the only ones, their docstrings.

    Python functions hold their docstring and cannot look for it when they are asked, so the file is read at once.

    Args:
        packets: in the order of the file.
        module: the path of the module that defines them; the file is beside it. Where it is not, they have none.
    """
    try:
        with open(os.path.join(os.path.dirname(module), DOCSTRINGS), encoding="utf-8") as file:
            *texts, _ = file.read().split(DOCSTRING_END)
    except FileNotFoundError:
        return
    for packet, text in zip(packets.values(), texts, strict=True):
        packet.__doc__ = text
        only = vars(packet).get("__wrapped__")
        if only is not None:
            only.__doc__ = text

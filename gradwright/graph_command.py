"""`gradwright graph script.py`: runs a program as `run` does, and draws the graph of its first backward."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from codegen.commands.process import ERRORS, OK
from gradwright.anomaly import set_anomaly_enabled
from gradwright.autograd.drawing.picture import Picture, picture_of
from gradwright.autograd.drawing.svg import svg_of
from gradwright.nn import Module
from runtime.base.tensor import Tensor
from runtime.graph import engine


class BackwardWatch:
    """While it is entered, keeps a picture of the first backward; of one that fails, in its place."""

    def __init__(self) -> None:
        self.picture: Picture | None = None
        self._inner = engine.run

    def __enter__(self) -> BackwardWatch:
        self._inner, engine.run = engine.run, self._run
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        engine.run = self._inner

    def _run(self, roots: Sequence[Tensor], *args: Any, **kwargs: Any) -> list[Tensor | None]:
        if self.picture is None:
            self.picture = _picture(roots)
        try:
            return self._inner(roots, *args, **kwargs)
        except Exception:
            self.picture = _picture(roots)
            raise


def draw_program(arguments: Sequence[str], run: Callable[[Sequence[str]], int]) -> int:
    """Run a program by `run`, and write its graph beside it.

    Returns:
        The exit status: 1 where the program computes no gradient.
    """
    parser = argparse.ArgumentParser(prog="gradwright graph", description=__doc__)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the picture; script.svg of script.py if not given"
    )
    parser.add_argument(
        "--anomaly", action="store_true", help="stop at the first NaN in a gradient, and show its Node red"
    )
    parser.add_argument("script", help="the program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="those of the program")
    options = parser.parse_args(arguments)
    output = options.output or Path(options.script).with_suffix(".svg")
    with BackwardWatch() as watch:
        try:
            if options.anomaly:
                set_anomaly_enabled(True)
            status = run([options.script, *options.arguments])
        finally:
            if watch.picture is not None:
                output.write_text(svg_of(watch.picture), encoding="utf-8")
                print(f"graph written to {output}", file=sys.stderr)
    if watch.picture is None and status == OK:
        print(f"error: {options.script} computes no gradient: there is no graph to draw", file=sys.stderr)
        return ERRORS
    return status


def _picture(roots: Sequence[Tensor]) -> Picture:
    return picture_of(roots, _names(vars(sys.modules["__main__"])), show_saved=True)


def _names(scope: Mapping[str, Any]) -> dict[str, Tensor]:
    """The Tensors of a module by their names, and parameters by those of the Modules that they belong to."""
    names: dict[str, Tensor] = {}
    for name, value in list(scope.items()):
        if isinstance(value, Module):
            names.update({f"{name}.{own}": parameter for own, parameter in value.named_parameters()})
        elif isinstance(value, Tensor):
            names[name] = value
    return names

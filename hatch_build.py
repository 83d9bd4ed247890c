"""The build hook: a wheel holds the generated operators, and the YAML and templates to make them again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# These lie at the root of a checkout; an installed codegen finds them in its own folder.
DATA = ("native_functions.yaml", "derivatives.yaml", "pytorch_helpers.yaml", "templates")


class GenerateHook(BuildHookInterface):  # type: ignore[type-arg]
    """Generates into the source tree before a wheel is packed, and adds the data."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # An editable install runs from the source tree, where whoever edits the YAML runs codegen by hand
        # and sees its errors; a source distribution is generated from when a wheel is made of it.
        if self.target_name != "wheel" or version == "editable":
            return
        # The interpreter of the build does not have the source tree on its path when it runs in isolation.
        environment = {**os.environ, "PYTHONPATH": self.root}
        finished = subprocess.run(
            [sys.executable, "-m", "codegen", "generate"],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if finished.returncode != 0:
            raise RuntimeError(f"python -m codegen failed, so there is nothing to pack:\n{finished.stdout}")
        build_data["force_include"] |= {str(Path(self.root, name)): f"codegen/data/{name}" for name in DATA}

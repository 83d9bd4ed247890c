"""The version of Gradwright, as pyproject.toml has it; `runtime.__version__`."""

VERSION = "0.1.0"

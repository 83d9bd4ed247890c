"""The version of Gradwright, as pyproject.toml has it; `gradwright.__version__`."""

VERSION = "0.1.0"

"""The version of Gradwright, which pyproject.toml and `runtime.__version__` take from here."""

VERSION = "0.1.0"

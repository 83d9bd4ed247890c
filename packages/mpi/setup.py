"""Tells setuptools that a wheel with an extension belongs to one platform; all else is in pyproject.toml."""

from pathlib import Path

from setuptools import Distribution, setup


class Package(Distribution):
    """A package whose generated code may have an extension beside it: `gradwright build` makes it."""

    def has_ext_modules(self):
        return any(Path(__file__).parent.glob("gradwright_mpi/_generated/_native-*"))


setup(distclass=Package)

"""Proofs of derivative rules: what `python -m codegen verify` runs.

`table.py` lists the properties, each a function of a sample that raises where it does not hold.
"""

from gradwright.verify.property import Property
from gradwright.verify.proving import check, prove
from gradwright.verify.results import Cell, Failure, Refuted, Status
from gradwright.verify.table import PROPERTIES

__all__ = ["PROPERTIES", "Cell", "Failure", "Property", "Refuted", "Status", "check", "prove"]

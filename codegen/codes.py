"""The codes of messages: one for each kind of mistake, the same in every version.

A code is decided where the mistake is found, and no message can be made without one. What each means stands in
`codegen/messages`, a page for each.
"""

from __future__ import annotations

from enum import Enum


class Code(Enum):
    """A kind of mistake. The number of one that is gone is not given to another."""

    # Files, YAML, and the values of keys.
    UNREADABLE = "GW001"
    YAML_SYNTAX = "GW002"
    WRONG_SHAPE = "GW003"
    UNKNOWN_KEY = "GW004"
    MISSING_KEY = "GW005"
    GIVEN_TWICE = "GW006"
    UNKNOWN_WORD = "GW007"
    MALFORMED = "GW008"
    CONTRADICTION = "GW009"
    # What a package brings beside its YAML.
    PROJECT_TABLE = "GW010"
    PYTHON_SOURCE = "GW011"
    TAKEN = "GW012"
    NO_FUNCTION = "GW013"
    KERNEL_PARAMETERS = "GW014"
    NOT_PORTABLE = "GW015"
    # Operators.
    SIGNATURE = "GW020"
    DUPLICATE_ENTRY = "GW021"
    NO_SUCH_ARGUMENT = "GW022"
    SIGN = "GW023"
    VARIANT = "GW024"
    SAMPLE = "GW025"
    # Formulas, as text and as types.
    UNKNOWN_OPERATOR = "GW030"
    SIGNATURE_DIFFERS = "GW031"
    FORMULA_SYNTAX = "GW032"
    UNKNOWN_NAME = "GW033"
    UNKNOWN_FUNCTION = "GW034"
    ARGUMENTS = "GW035"
    TYPES = "GW036"
    NOT_A_VALUE = "GW037"
    AMBIGUOUS = "GW038"
    WHICH_GRADIENT = "GW039"
    # Derivatives.
    OUTPUTS = "GW040"
    NO_FORMULA = "GW041"
    NOT_A_TENSOR = "GW042"
    NOT_LINEAR = "GW043"
    AUTOMATIC = "GW044"
    TANGENT_FORGOTTEN = "GW045"
    INDEX_OUTPUT = "GW046"
    TRACED_THROUGH = "GW047"
    ENDLESS = "GW048"
    NOT_ELEMENTWISE = "GW049"
    # What works, and costs or ends there; of somebody else's YAML `report` shows it.
    UNREACHABLE = "GW050"
    SAVED_IN_VAIN = "GW051"
    HISTORY_LOST = "GW052"
    # What does not follow from an expression.
    NOT_DERIVED = "GW053"
    KINK = "GW054"
    DERIVED_DIFFERS = "GW055"
    # What is seldom right of complex numbers.
    NOT_CONJUGATED = "GW056"
    # What `lint` finds.
    NO_DERIVATIVE = "GW060"
    NO_SAMPLES = "GW061"
    NOT_POINTWISE = "GW062"
    NO_PROMOTION = "GW063"
    KERNEL_WRITES = "GW064"
    DIFFERENTIABLE_INTEGER = "GW065"
    ALLOWS_NOTHING = "GW066"
    FORMER_WORD = "GW067"
    # What `verify` refutes.
    WRONG_GRADIENT = "GW070"
    WRONG_TANGENT = "GW071"
    WRONG_SECOND = "GW072"
    UNPROVEN = "GW073"
    NOT_PROVEN = "GW074"

    def __str__(self) -> str:
        return self.value

"""Properties of operators: one test for each operator, which names the properties that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

Check = Callable[..., None]


class Properties:
    """Checks by the operator that they are about.

    A check is a function of a case, which is an operator and what else varies, such as a dtype; it raises where the
    property does not hold.
    """

    def __init__(self) -> None:
        self._checks: dict[str, list[tuple[Check, tuple[Any, ...]]]] = {}

    def hold_for(self, cases: Iterable[tuple[Any, ...]]) -> Callable[[Check], Check]:
        """Register the decorated check for cases, each of which begins with the operator's `OperatorInfo`."""

        def register(check: Check) -> Check:
            for case in cases:
                self._checks.setdefault(case[0].name, []).append((check, case))
            return check

        return register

    def check(self, operator: str) -> None:
        """Run all checks of an operator.

        Raises:
            BaseExceptionGroup: what the checks raised that failed; its message names them.
        """
        failed, failures = [], []
        for check, case in self._checks[operator]:
            try:
                check(*case)
            except (Exception, pytest.fail.Exception) as error:
                failed.append(" ".join((check.__name__, *map(str, case[1:]))))
                failures.append(error)
        if failures:
            raise BaseExceptionGroup(f"{operator}: {', '.join(failed)}", failures)

    def tests(self, least: int) -> tuple[Callable[[str], None], Callable[[], None]]:
        """The tests of a module that has registered all its checks.

        Args:
            least: how many pairs of a check and a case there have to be.

        Returns:
            The test of an operator, and the test that counts the pairs.
        """

        @pytest.mark.parametrize("operator", list(self._checks))
        def test_operator(operator: str) -> None:
            self.check(operator)

        def test_properties_are_checked() -> None:
            assert sum(map(len, self._checks.values())) >= least

        return test_operator, test_properties_are_checked

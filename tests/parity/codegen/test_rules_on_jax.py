"""Every rule gives the gradients and tangents of the runtime, on arrays of JAX. Parts of the rules take turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from support.rule_agreement import compare_all, written_rules

PARTS = 40
AGREEING = 338


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Any]]:
    with pytest.MonkeyPatch.context() as patch, jax.enable_x64(True):
        yield written_rules(tmp_path_factory.mktemp("rules"), patch)


def test_every_rule_is_in_a_part(rules: Mapping[str, Any]) -> None:
    assert len(rules) >= AGREEING


@pytest.mark.rotates
@pytest.mark.parametrize("part", range(PARTS))
def test_on_jax(rules: Mapping[str, Any], part: int) -> None:
    chosen = {name: rules[name] for name in list(rules)[part::PARTS]}
    found = compare_all(chosen, jnp.asarray, np.asarray, lambda name: jnp.dtype(name))
    assert found.wrong == []
    assert len(found.agreeing) == len(chosen)

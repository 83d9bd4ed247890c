from __future__ import annotations

import pytest

from codegen.paths import Paths
from support.editor import Opened, open_small


@pytest.fixture
def opened(small_paths: Paths) -> Opened:
    """A small project in an editor."""
    return open_small(small_paths)

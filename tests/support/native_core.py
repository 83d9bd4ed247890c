"""The mark of tests that need the native core."""

from __future__ import annotations

import pytest

from runtime import native

NO_CORE = "the native core is not built, or switched off"
needs_core = pytest.mark.skipif(not native.is_available(), reason=NO_CORE)

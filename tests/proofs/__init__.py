"""Fault proofs: what holds when the process, the disk or a person cuts in."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.evidence", f"{__name__}.crashing")

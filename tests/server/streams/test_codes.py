from __future__ import annotations

import pytest

from agentrt.frames import Problem
from agentrt.server.streams.codes import REASON, closing, cut

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, 4001), (403, 4003), (404, 4004), (410, 4010), (422, 4009), (429, 1013), (503, 1013), (500, 1011)],
)
def test_a_code_says_what_the_client_should_do(status: int, code: int) -> None:
    assert closing(Problem(title="No", status=status, detail="because")) == (code, "No: because")


def test_a_reason_has_room_in_a_close_frame() -> None:
    reason = cut("é" * 200)
    assert len(reason.encode()) <= REASON
    assert set(reason) == {"é"}

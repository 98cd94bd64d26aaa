"""What a shell has as its environment."""

from __future__ import annotations

import pytest

from agentrt.sandboxes.environment import environment

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    "value",
    [
        "postgres://ada:Xk29@db/shop",
        "http://user:pw@proxy:3128",
        "see redis://:pw1234@cache:6379/0",
        "amqp://a:b%40c@q",
    ],
)
def test_an_address_with_a_password_does_not_reach_commands(value: str) -> None:
    assert "DATABASE_URL" not in environment({"DATABASE_URL": value})


@pytest.mark.parametrize(
    "value", ["http://proxy:3128", "https://ada@example.org/x", "git@example.org:a/b", "a://b:80/@c"]
)
def test_an_address_without_one_does(value: str) -> None:
    assert environment({"PLACE": value})["PLACE"] == value

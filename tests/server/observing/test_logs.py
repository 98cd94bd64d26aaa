from __future__ import annotations

import io
import json
import logging

import pytest

from agentrt.secrets import LogMask, SecretRegistry
from agentrt.server.observing.logs import handler

pytestmark = pytest.mark.pure


def record(**extra: object) -> logging.LogRecord:
    return logging.getLogger("agentrt.server.access").makeRecord(
        "agentrt.server.access", logging.INFO, "", 0, "GET %s", ("/conversations",), None, extra=extra
    )


def test_a_line_for_a_machine_is_an_object() -> None:
    out = io.StringIO()
    handler("json", out).handle(record(status=200, principal="ada"))
    told = json.loads(out.getvalue())
    assert told.pop("time")
    assert told == {
        "level": "INFO",
        "logger": "agentrt.server.access",
        "message": "GET /conversations",
        "status": 200,
        "principal": "ada",
    }


def test_secrets_are_taken_out_of_both_kinds() -> None:
    mask, registry = LogMask(), SecretRegistry({"TOKEN": "canary-value-1"})
    mask.watch(registry)
    for kind in ("text", "json"):
        out = io.StringIO()
        made = handler(kind, out)
        made.addFilter(mask)
        made.handle(record(principal="canary-value-1"))
        assert out.getvalue().endswith("\n")
        assert "canary" not in out.getvalue()

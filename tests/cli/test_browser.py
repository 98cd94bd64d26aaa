"""`agentrt browser`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from agentrt.cli.browser import browser
from agentrt.tools.browser.finding import VARIABLE

pytestmark = pytest.mark.real


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/chromium")
    ran = CliRunner().invoke(browser, ["check"])
    assert ran.exit_code == 1
    assert "no Chromium is installed: `agentrt browser install` gets one" in ran.output


@pytest.mark.long
def test_what_is_there_is_tried() -> None:
    ran = CliRunner().invoke(browser, ["check"])
    assert ran.exit_code == 0, ran.output
    assert "It works: Chromium " in ran.output

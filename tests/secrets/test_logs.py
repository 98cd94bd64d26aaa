"""`LogMask`: no record holds a secret, and none is lost or fails because of it."""

from __future__ import annotations

import gc
import io
import logging
from collections.abc import Iterator

import pytest

from agentrt.secrets import HIDDEN, LogMask, SecretRegistry

pytestmark = pytest.mark.pure

KEY = "hunter22"


class Lines:
    """What a logger of its own writes, and its `LogMask` with one registry."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        self.handler = logging.StreamHandler(self._stream)
        self.handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        self.logger = logging.getLogger("agentrt_tests.secrets")
        self.logger.addHandler(self.handler)
        self.logger.propagate = False
        self.registry = SecretRegistry({"KEY": KEY})
        self.mask = LogMask()
        self.mask.watch(self.registry)
        self.mask.install("agentrt_tests")

    def text(self) -> str:
        return self._stream.getvalue()

    def close(self) -> None:
        self.mask.uninstall()
        self.logger.removeHandler(self.handler)


@pytest.fixture
def lines() -> Iterator[Lines]:
    lines = Lines()
    yield lines
    lines.close()


class Odd:
    """An object whose text is a secret."""

    def __repr__(self) -> str:
        return KEY


class Broken:
    """An object that has no text."""

    def __repr__(self) -> str:
        raise RuntimeError(KEY)


def test_a_record_is_masked_wherever_it_holds_a_secret(lines: Lines) -> None:
    lines.logger.warning("the key is %s", KEY)
    lines.logger.warning(f"the key is {KEY} of %d", 2)
    lines.logger.warning("%s", Odd())
    lines.logger.warning("%(key)s", {"key": KEY})
    lines.logger.warning("in hex %s", KEY.encode().hex())
    lines.logger.warning("stack", stack_info=True)
    assert KEY not in lines.text()
    assert f"WARNING the key is {HIDDEN} of 2\n" in lines.text()


def test_an_exception_is_masked(lines: Lines) -> None:
    try:
        raise ValueError(KEY) from KeyError(KEY)
    except ValueError:
        lines.logger.exception("failed")
    assert KEY not in lines.text()
    assert f"ValueError: {HIDDEN}" in lines.text()


def test_what_was_added_to_a_record_is_masked(lines: Lines) -> None:
    lines.handler.setFormatter(logging.Formatter("%(message)s %(request)s"))
    lines.logger.warning("asked", extra={"request": {"key": KEY}})
    assert lines.text() == f"asked {{'key': '{HIDDEN}'}}\n"


def test_other_records_stay_as_they_are(lines: Lines) -> None:
    records: list[logging.LogRecord] = []
    lines.handler.addFilter(lambda record: records.append(record) or True)  # type: ignore[func-returns-value]
    lines.logger.info("not shown")
    lines.logger.warning("%d of %d", 1, 2)
    assert lines.text() == "WARNING 1 of 2\n"
    assert records[0].args == (1, 2)


def test_it_never_raises_and_never_gives_up_a_secret(lines: Lines, capsys: pytest.CaptureFixture[str]) -> None:
    for message in ("%d", "%s %s"):
        lines.logger.warning(message, KEY)
    lines.logger.warning("%s", Broken())
    said = lines.text() + capsys.readouterr().err
    assert KEY not in said
    assert said.count("\n") == 3
    assert f"{HIDDEN}: a record that could not be masked (RuntimeError)" in said


def test_a_secret_that_comes_later_is_masked_too(lines: Lines) -> None:
    lines.registry.update({"KEY": "tercel33"})
    lines.logger.warning("%s %s", KEY, "tercel33")
    assert lines.text() == f"WARNING {HIDDEN} {HIDDEN}\n"


def test_a_registry_that_is_gone_is_forgotten(lines: Lines) -> None:
    other = SecretRegistry({"OTHER": "of-another"})
    lines.mask.watch(other)
    lines.logger.warning("of-another")
    del other
    gc.collect()
    lines.logger.warning("of-another")
    assert lines.text() == f"WARNING {HIDDEN}\nWARNING of-another\n"


def test_of_many_conversations_each_is_masked_also_what_comes_later(lines: Lines) -> None:
    values = [f"{number * 2654435761 % 2**32:08x}-it" for number in range(200)]
    registries = [SecretRegistry({"KEY": value}) for value in values]
    for number, registry in enumerate(registries):
        lines.mask.watch(registry)
        lines.logger.warning("it is %s", values[number])
    registries[7].update({"LATER": "what-came-later"})
    lines.logger.warning("what-came-later %s %s", values[3], values[199])
    assert not any(value in lines.text() for value in values)
    assert "later" not in lines.text()
    del registries[1:], registry
    gc.collect()
    lines.logger.warning("%s %s", values[0], values[9])
    assert lines.text().endswith(f"WARNING {HIDDEN} {values[9]}\n")


def test_installing_twice_is_once(lines: Lines) -> None:
    lines.mask.install("agentrt_tests")
    assert lines.logger.filters == [lines.mask]
    assert lines.handler.filters == [lines.mask]
    lines.mask.uninstall()
    assert lines.logger.filters == lines.handler.filters == []


def test_it_goes_to_the_loggers_of_the_runtime_and_of_asyncio() -> None:
    mask = LogMask()
    mask.install()
    try:
        assert mask in logging.getLogger("agentrt").filters
        assert mask in logging.getLogger("asyncio").filters
        assert mask in logging.getLogger("agentrt.host.hosts").filters
    finally:
        mask.uninstall()
    assert mask not in logging.getLogger("agentrt").filters

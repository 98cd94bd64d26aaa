"""`SecretRegistry`: who gets a value, when it is looked up, and that it is masked from then on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import anyio
import pytest
from aiohttp import web

from agentrt.errors import ConfigurationError, ToolError
from agentrt.secrets import (
    HIDDEN,
    CallableSecret,
    Cipher,
    EnvironmentSecret,
    LookupSecret,
    SecretRegistry,
    StaticSecret,
)
from agentrt.secrets.lookups import MAX_SIZE
from agentrt.secrets.registry import FRESH, RETRY_AFTER

from .lookups import LookupServer

pytestmark = pytest.mark.simulated


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_each_kind_of_source_has_its_value() -> None:
    async def current() -> str:
        return "from-a-coroutine"

    registry = SecretRegistry(
        {
            "GIVEN": "given-as-it-is",
            "STATIC": StaticSecret("static-value", "to push"),
            "ENVIRONMENT": EnvironmentSecret("DB_URL"),
            "FUNCTION": lambda: "from-a-function",
            "COROUTINE": CallableSecret(current),
            "AWAITABLE": lambda: current(),
        },
        environment={"DB_URL": "postgres://u:p@h/db"},
    )
    values = [await registry.value(name) for name in registry.names]
    assert values == [
        "given-as-it-is",
        "static-value",
        "postgres://u:p@h/db",
        "from-a-function",
        "from-a-coroutine",
        "from-a-coroutine",
    ]
    assert registry.descriptions["STATIC"] == "to push"
    assert registry.mask.text(" ".join(values)) == " ".join([HIDDEN] * 6)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("curl -H $TOKEN", {"TOKEN"}),
        ("echo ${TOKEN}x", {"TOKEN"}),
        ("python -c 'import os; os.environ[\"TOKEN\"]'", {"TOKEN"}),
        ("TOKEN", {"TOKEN"}),
        ("$MY_TOKEN $TOKENS $token $TOKEN2", set()),
        ("$OTHER and $TOKEN", {"TOKEN", "OTHER"}),
        ("", set()),
    ],
)
async def test_only_what_is_named_is_given(text: str, named: set[str]) -> None:
    registry = SecretRegistry({"TOKEN": "value-of-token", "OTHER": "value-of-other"})
    assert set(await registry.named_in(text)) == named


async def test_what_is_not_named_is_not_looked_up() -> None:
    def never() -> str:
        raise AssertionError

    registry = SecretRegistry({"TOKEN": never, "OTHER": "value-of-other"})
    assert await registry.named_in("$OTHER") == {"OTHER": "value-of-other"}


async def test_a_function_runs_in_a_thread() -> None:
    threads: list[int] = []

    def function() -> str:
        threads.append(threading.get_ident())
        return "from-a-thread"

    await SecretRegistry({"A": function}).value("A")
    assert threads != [threading.get_ident()]


async def test_values_of_the_past_stay_masked() -> None:
    registry = SecretRegistry({"TOKEN": "first-token"})
    before, version = registry.mask, registry.version
    registry.update({"TOKEN": "second-token"})
    assert await registry.value("TOKEN") == "second-token"
    assert registry.mask.text("first-token second-token") == f"{HIDDEN} {HIDDEN}"
    assert before.text("second-token") == "second-token"
    assert registry.version == version + 1
    registry.update({"TOKEN": "first-token"})
    assert registry.version == version + 1
    registry.remove("TOKEN", "NOT_THERE")
    assert registry.names == ()
    assert registry.mask.text("second-token") == HIDDEN


async def test_values_of_the_past_come_back_with_a_key() -> None:
    cipher, environment = Cipher(Cipher.new_key()), {"DB_URL": "of-the-environment"}
    registry = SecretRegistry({"A": "first-of-a", "B": EnvironmentSecret("DB_URL")}, environment=environment)
    registry.update({"A": "second-of-a"})
    registry.remove("B")
    past = registry.retired(cipher)
    assert "first-of-a" not in "".join(past)
    assert registry.retired(cipher) == (), "each once"
    other = SecretRegistry(environment={})
    other.restore(registry.saved(cipher, "c"), cipher, "c", past)
    assert other.mask.text("first-of-a second-of-a of-the-environment") == f"{HIDDEN} {HIDDEN} {HIDDEN}"
    registry.update({"A": "third-of-a"})
    assert registry.retired() == (), "nothing can be kept without a key"


async def test_values_that_changed_by_themselves_are_of_the_past_too() -> None:
    cipher, environment, clock = Cipher(Cipher.new_key()), {"DB_URL": "first-of-b"}, Clock()
    found = iter(["first-of-a", "second-of-a"])
    registry = SecretRegistry(
        {"A": lambda: next(found), "B": EnvironmentSecret("DB_URL")}, environment=environment, clock=clock
    )
    for _ in range(2):
        await registry.named_in("$A $B")
        environment["DB_URL"] = "second-of-b"
        clock.now += 100
    assert registry.has_unsaved
    other = SecretRegistry(environment={})
    other.restore({}, cipher, "c", registry.retired(cipher))
    assert not registry.has_unsaved
    assert other.mask.text("first-of-a first-of-b") == f"{HIDDEN} {HIDDEN}"


async def test_a_value_that_comes_after_its_secret_was_taken_back_is_of_the_past() -> None:
    asked, go_on = anyio.Event(), anyio.Event()

    async def slow() -> str:
        asked.set()
        await go_on.wait()
        return "slow-value"

    registry = SecretRegistry({"A": slow})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(registry.named_in, "$A")
        await asked.wait()
        registry.remove("A")
        go_on.set()
    assert registry.has_unsaved


async def test_what_was_encrypted_stays_so_when_it_is_replaced_without_the_key() -> None:
    cipher = Cipher(Cipher.new_key())
    saved = SecretRegistry({"A": "first-of-a"}).saved(cipher, "c")
    without = SecretRegistry()
    without.restore(saved, None, "c")
    without.update({"A": "second-of-a"})
    past = without.retired()
    again = SecretRegistry()
    again.restore({}, cipher, "c", past)
    assert again.mask.text("first-of-a") == HIDDEN


async def test_a_fork_knows_all_values_of_the_past() -> None:
    cipher = Cipher(Cipher.new_key())
    registry = SecretRegistry({"A": "first-of-a"})
    registry.update({"A": "second-of-a"})
    registry.retired(cipher)
    fork, again = registry.copy(), SecretRegistry()
    again.restore(fork.saved(cipher, "f"), cipher, "f", fork.retired(cipher))
    assert again.mask.text("first-of-a second-of-a") == f"{HIDDEN} {HIDDEN}"


async def test_a_fork_that_was_made_without_the_key_can_be_opened_with_it() -> None:
    cipher = Cipher(Cipher.new_key())
    saved = SecretRegistry({"A": "first-of-a", "L": LookupSecret("http://host/", {"X-Key": "key-of-l"})}).saved(
        cipher, "c"
    )
    parent, fork = SecretRegistry(), SecretRegistry()
    parent.restore(saved, None, "c")
    assert fork.restore(parent.copy().saved(None, "f"), cipher, "f") == ("A", "L")
    assert parent.saved(None, "c") == saved


async def test_a_key_can_be_changed() -> None:
    old, new = Cipher.new_key(), Cipher.new_key()
    registry = SecretRegistry({"A": "value-of-a"})
    registry.update({"A": "second-of-a"})
    saved, past = registry.saved(Cipher(old), "c"), registry.retired(Cipher(old))
    later = SecretRegistry()
    later.restore(saved, Cipher(new, old), "c", past)
    assert await later.value("A") == "second-of-a"
    SecretRegistry().restore(later.saved(Cipher(new, old), "c"), Cipher(new), "c")
    assert len(Cipher(new, old).spellings()) == 4


async def test_a_function_that_cancels_itself_has_failed() -> None:
    async def cancelled() -> str:
        raise asyncio.CancelledError

    with pytest.raises(ToolError, match="its function failed with StrayCancellation"):
        await SecretRegistry({"A": cancelled}).named_in("$A")


async def test_a_changed_variable_is_read_anew() -> None:
    environment = {"DB_URL": "old-value"}
    registry = SecretRegistry({"DB": EnvironmentSecret("DB_URL")}, environment=environment)
    assert registry.mask.text("old-value") == HIDDEN
    environment["DB_URL"] = "new-value"
    assert await registry.value("DB") == "new-value"
    assert registry.mask.text("old-value new-value") == f"{HIDDEN} {HIDDEN}"
    del environment["DB_URL"]
    with pytest.raises(ToolError, match="no variable DB_URL"):
        await registry.value("DB")
    environment["DB_URL"] = "x"
    with pytest.raises(ToolError, match="less than 4 characters"):
        await registry.value("DB")


async def test_seeds_are_masked_and_have_no_name() -> None:
    registry = SecretRegistry()
    registry.seed(["sk-0123456789"])
    assert registry.mask.text("sk-0123456789") == HIDDEN
    assert registry.names == ()
    assert await registry.named_in("sk-0123456789") == {}


@pytest.mark.pure
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("1ST", "value", "invalid name"),
        ("A-B", "value", "invalid name"),
        ("PATH", "value", "the shell uses"),
        ("AGENTRT_CALL", "value", "the shell uses"),
        ("A", "abc", "less than 4"),
        ("A", "  abc \n", "less than 4"),
        ("A", "a\0bcd", "NUL"),
        ("A", "\ud800abcd", "UTF-8"),
        ("A", 12345, "is a int"),
        ("A", StaticSecret(12345), "is a int"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_a_secret_is_refused(name: str, value: str, why: str) -> None:
    registry = SecretRegistry({"GOOD": "good-value"})
    with pytest.raises(ConfigurationError, match=why):
        registry.update({"BETTER": "better-value", name: value})
    assert registry.names == ("GOOD",)


async def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(ToolError, match=r"unknown secret 'B' \(known: A\)"):
        await SecretRegistry({"A": "value"}).value("B")


@pytest.mark.pure
def test_nothing_shows_a_value() -> None:
    registry = SecretRegistry({"A": "hunter22"})
    shown = [registry, StaticSecret("hunter22"), LookupSecret("http://h/", {"X-Key": "hunter22"})]
    shown += [CallableSecret(lambda: "hunter22"), registry.mask]
    assert all("hunter22" not in repr(one) + str(one) for one in shown)


@pytest.mark.real
async def test_a_lookup_sends_its_headers_and_masks_them() -> None:
    async with LookupServer("looked-up-value\n") as server:
        lookup = LookupSecret(server.url + "/v1?x=1", {"Authorization": "Bearer key-of-vault", "Accept": "text/plain"})
        registry = SecretRegistry({"API": lookup})
        assert registry.mask.text("key-of-vault text/plain") == f"{HIDDEN} text/plain"
        assert await registry.named_in("$API") == {"API": "looked-up-value"}
        assert server.requests[0].headers["Authorization"] == "Bearer key-of-vault"
        assert server.requests[0].path_qs == "/v1?x=1"
        assert registry.mask.text("looked-up-value") == HIDDEN


@pytest.mark.real
async def test_a_lookup_counts_for_a_while() -> None:
    clock = Clock()
    async with LookupServer("first-value", "second-value") as server:
        registry = SecretRegistry({"API": LookupSecret(server.url)}, clock=clock)
        assert await registry.value("API") == "first-value"
        clock.now += FRESH - 1
        assert await registry.value("API") == "first-value"
        clock.now += 1
        assert await registry.value("API") == "second-value"
        assert len(server.requests) == 2
        registry.update({"API": LookupSecret(server.url)})
        await registry.value("API")
        assert len(server.requests) == 3


@pytest.mark.real
async def test_those_who_ask_together_share_a_lookup() -> None:
    arrived, go = anyio.Event(), anyio.Event()

    async def slow(request: web.Request) -> web.Response:
        arrived.set()
        await go.wait()
        return web.Response(text="shared-value")

    values: list[str] = []
    async with LookupServer(slow) as server:
        registry = SecretRegistry({"API": LookupSecret(server.url)})

        async def ask() -> None:
            values.append(await registry.value("API"))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
            await arrived.wait()
            go.set()
    assert values == ["shared-value"] * 5
    assert len(server.requests) == 1


@pytest.mark.real
async def test_one_who_is_cancelled_leaves_the_lookup_to_the_next() -> None:
    arrived, ever = anyio.Event(), anyio.Event()

    async def slow(request: web.Request) -> web.Response:
        arrived.set()
        await ever.wait()
        return web.Response()

    async with LookupServer(slow, "the-value") as server:
        registry = SecretRegistry({"API": LookupSecret(server.url)})
        async with anyio.create_task_group() as group:
            group.start_soon(registry.value, "API")
            await arrived.wait()
            group.cancel_scope.cancel()
        assert await registry.value("API") == "the-value"
        ever.set()


@pytest.mark.real
async def test_a_lookup_that_failed_is_made_again_after_a_minute() -> None:
    clock = Clock()

    async def refused(request: web.Request) -> web.Response:
        return web.Response(status=403, text="the key key-of-vault is not good")

    async with LookupServer(refused, "the-value") as server:
        lookup = LookupSecret(server.url + "/key-of-vault?q=hidden", {"X-Key": "key-of-vault"})
        registry = SecretRegistry({"API": lookup}, clock=clock)
        with pytest.raises(ToolError) as raised:
            await registry.value("API")
        said = f"secret 'API' is not available: {server.url}/{HIDDEN} answered with status 403"
        assert str(raised.value) == f"{said}. It is tried again after 60 s at the earliest."
        clock.now += RETRY_AFTER - 1
        with pytest.raises(ToolError, match="after 1 s"):
            await registry.named_in("$API")
        assert len(server.requests) == 1
        clock.now += 1
        assert await registry.value("API") == "the-value"


@pytest.mark.real
async def test_a_new_source_need_not_wait() -> None:
    registry = SecretRegistry({"API": LookupSecret("http://127.0.0.1:1/")})
    with pytest.raises(ToolError, match=r"'API' is not available: http://127.0.0.1:1/ cannot be reached"):
        await registry.value("API")
    registry.update({"API": "given-by-hand"})
    assert await registry.value("API") == "given-by-hand"


@pytest.mark.real
async def test_headers_do_not_go_to_another_host() -> None:
    async with LookupServer("not-for-you") as other:

        async def away(request: web.Request) -> web.Response:
            raise web.HTTPFound(other.url)

        async with LookupServer(away) as server:
            registry = SecretRegistry({"API": LookupSecret(server.url, {"X-Key": "key-of-vault"})})
            with pytest.raises(ToolError, match="redirects to another host"):
                await registry.value("API")
        assert other.requests == []


@pytest.mark.real
async def test_a_redirect_on_the_same_host_is_followed() -> None:
    async def on(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "/on"})

    async with LookupServer(on, "the-value") as server:
        registry = SecretRegistry({"API": LookupSecret(server.url, {"X-Key": "key-of-vault"})})
        assert await registry.value("API") == "the-value"
        assert [(request.path, request.headers["X-Key"]) for request in server.requests] == [
            ("/", "key-of-vault"),
            ("/on", "key-of-vault"),
        ]
    async with LookupServer(on) as server:
        with pytest.raises(ToolError, match="redirects more than 5 times"):
            await SecretRegistry({"API": LookupSecret(server.url)}).value("API")


@pytest.mark.real
@pytest.mark.parametrize(
    ("body", "why"),
    [(b"x" * (MAX_SIZE + 1), "more than 65536 bytes"), (b"\xff\xfe1234", "not UTF-8 text"), (b"", "less than 4")],
)
async def test_an_answer_that_is_no_value_is_refused(body: bytes, why: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body)

    async with LookupServer(answer) as server:
        with pytest.raises(ToolError, match=why):
            await SecretRegistry({"API": LookupSecret(server.url)}).value("API")


@pytest.mark.pure
@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("ftp://host/", {}),
        ("/secrets/a", {}),
        ("https://user:pass@host/", {}),
        ("https://host/", {"X-Key": "a\r\nX-More: b"}),
        ("https://host/", {"X Key": "a"}),
    ],
)
def test_a_lookup_that_cannot_be_made_is_refused(url: str, headers: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        LookupSecret(url, headers)
    assert "pass" not in str(raised.value).replace("password", "")


async def test_a_function_that_fails_says_no_more_than_how() -> None:
    def fails() -> str:
        raise ValueError("hunter22 is not good")

    def no_text() -> int:
        return 12345678

    registry = SecretRegistry({"A": fails, "B": no_text})  # type: ignore[dict-item]
    with pytest.raises(ToolError, match=r"'A' is not available: its function failed with ValueError\. ") as raised:
        await registry.value("A")
    assert "hunter22" not in str(raised.value)
    with pytest.raises(ToolError, match="is a int"):
        await registry.value("B")
    with pytest.raises(ToolError, match="'A' is not available.*; .*'B' is not available"):
        await registry.named_in("$A $B")


@pytest.fixture
def sources() -> Callable[[], SecretRegistry]:
    return lambda: SecretRegistry(
        {
            "STATIC": StaticSecret("static-value", "to push"),
            "ENVIRONMENT": EnvironmentSecret("DB_URL"),
            "OPEN": LookupSecret("http://host/open"),
            "LOOKUP": LookupSecret("http://host/", {"X-Key": "key-of-vault"}),
            "FUNCTION": lambda: "from-a-function",
        },
        environment={"DB_URL": "from-environment"},
    )


async def test_what_comes_back_without_a_key(sources: Callable[[], SecretRegistry]) -> None:
    later = SecretRegistry(environment={"DB_URL": "from-environment"})
    assert later.restore(sources().saved()) == ("STATIC", "LOOKUP", "FUNCTION")
    assert later.missing == ("STATIC", "LOOKUP", "FUNCTION")
    assert later.descriptions["STATIC"] == "to push"
    assert await later.value("ENVIRONMENT") == "from-environment"
    with pytest.raises(ToolError, match="not kept over a restart: ask the user"):
        await later.named_in("$STATIC")
    assert later.saved() == sources().saved()
    later.update({"STATIC": "given-again"})
    assert sorted(later.missing) == ["FUNCTION", "LOOKUP"]


async def test_what_comes_back_with_a_key(sources: Callable[[], SecretRegistry]) -> None:
    cipher, later = Cipher(Cipher.new_key()), SecretRegistry(environment={})
    assert later.restore(sources().saved(cipher, "c1"), cipher, "c1") == ("FUNCTION",)
    assert await later.value("STATIC") == "static-value"
    assert later.mask.text("static-value key-of-vault") == f"{HIDDEN} {HIDDEN}"


@pytest.mark.pure
def test_what_was_saved_needs_its_key_its_name_and_its_conversation(sources: Callable[[], SecretRegistry]) -> None:
    cipher = Cipher(Cipher.new_key())
    saved = sources().saved(cipher, "c1")
    for given, key, scope in [
        (saved, Cipher(Cipher.new_key()), "c1"),
        (saved, cipher, "c2"),
        ({"OTHER": saved["STATIC"]}, cipher, "c1"),
    ]:
        registry = SecretRegistry()
        with pytest.raises(ConfigurationError, match="cannot decrypt secret '.*': it was encrypted with another key"):
            registry.restore(given, key, scope)
        assert registry.names == ()
    assert "STATIC" in SecretRegistry().restore(saved, None, "c1")

"""`LimitedClient`: queues calls, to keep to each provider's limits and share it fairly between conversations."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from ..context.budget import estimated_tokens
from ..context.replies import ModelReply
from ..errors import ConfigurationError
from ..protocols import Clock, Later, ModelClient, ModelRequest, Watch, call_later
from ..specs.given import Given
from .around import Around

OTHERS = "*"
"""The key of the limits for every provider without limits of its own."""

_EXACT = 1e-6
"""Tolerance in requests or tokens, because waiting times are rounded."""


class ProviderLimits(Given, frozen=True, kw_only=True, omit_defaults=True):
    """A provider's limits: `calls` at once, and requests and tokens per minute; None: no limit."""

    calls: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} must be at least 1, not {value}; None is no limit")


class LimitedClient(Around):
    """A `ModelClient` that keeps to the limits of each provider: the part of a model's name before its first "/".

    `limits` has them by provider; those under "*" apply to each other provider separately. Calls that have to wait are
    queued: the waiting conversations take turns, one call each, and the calls of a conversation keep their order. The
    tokens of a prompt are estimated before its call; the actual usage is booked when the reply reports it.
    """

    def __init__(
        self,
        inner: ModelClient,
        limits: Mapping[str, ProviderLimits],
        *,
        clock: Clock = time.monotonic,
        later: Later = call_later,
    ) -> None:
        super().__init__(inner)
        self._limits = dict(limits)
        self._clock, self._later = clock, later
        self._gates: dict[str, _Gate] = {}

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Return the inner client's reply, when it is this call's turn. Raises the inner client's errors."""
        gate = self._gate(request.one.model)
        if gate is None:
            return await self._inner.complete(request, watch)
        estimate = estimated_tokens(request.messages, request.tools, request.seconds) if gate.counts_tokens else 0
        await gate.enter(request.conversation, estimate)
        used = estimate
        try:
            reply = await self._inner.complete(request, watch)
            used = reply.usage.total or estimate
        finally:
            gate.leave(used - estimate)
        return reply

    def _gate(self, model: str) -> _Gate | None:
        """Return the gate of a model's provider, or None if it has no limits."""
        provider, slash, _ = model.partition("/")
        provider = provider if slash else ""
        if (gate := self._gates.get(provider)) is None:
            limits = self._limits.get(provider, self._limits.get(OTHERS))
            if limits is None:
                return None
            gate = self._gates[provider] = _Gate(limits, self._clock, self._later)
        return gate


class _Turn:
    """A call in the queue."""

    __slots__ = ("conversation", "granted", "tokens")

    def __init__(self, conversation: str, tokens: int) -> None:
        self.conversation, self.tokens = conversation, tokens
        self.granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _Line:
    """The waiting calls, in order for each conversation. All operations are O(1)."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, OrderedDict[_Turn, None]] = OrderedDict()
        """Calls by conversation; the conversation that is served next comes first."""

    def first(self) -> _Turn | None:
        """Return the call that is served next."""
        for turns in self._turns.values():
            return next(iter(turns))
        return None

    def join(self, turn: _Turn) -> None:
        """Append a call to those of its conversation; a new conversation is placed behind the others."""
        self._turns.setdefault(turn.conversation, OrderedDict())[turn] = None

    def leave(self, turn: _Turn) -> None:
        """Remove a call that was not served; does nothing for a call that is not queued."""
        turns = self._turns.get(turn.conversation)
        if turns is not None and turn in turns:
            del turns[turn]
            if not turns:
                del self._turns[turn.conversation]

    def serve(self, turn: _Turn) -> None:
        """Remove a served call, and move its conversation behind the others."""
        self.leave(turn)
        if turn.conversation in self._turns:
            self._turns.move_to_end(turn.conversation)


class _Bucket:
    """A token bucket: holds the amount of a minute, fills up evenly, and may be in debt.

    An amount that exceeds its capacity passes when it is full.
    """

    def __init__(self, per_minute: int, now: float) -> None:
        self._size, self._rate = per_minute, per_minute / 60
        self._level, self._filled = float(per_minute), now

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until the amount is available; 0 if it is."""
        self._level = min(self._size, self._level + (now - self._filled) * self._rate)
        self._filled = now
        missing = min(amount, self._size) - self._level
        return missing / self._rate if missing > _EXACT else 0.0

    def take(self, amount: float) -> None:
        """Take out an amount; a negative amount is put back."""
        self._level -= amount


class _Gate:
    """The limits of one provider, and its waiting calls. Between two awaits, as many as possible are served."""

    def __init__(self, limits: ProviderLimits, clock: Clock, later: Later) -> None:
        now = clock()
        self._calls = limits.calls
        self._requests = None if limits.requests_per_minute is None else _Bucket(limits.requests_per_minute, now)
        self._tokens = None if limits.tokens_per_minute is None else _Bucket(limits.tokens_per_minute, now)
        self._clock, self._later = clock, later
        self._line = _Line()
        self._in_flight = 0
        self._stop_waiting: Callable[[], None] | None = None

    @property
    def counts_tokens(self) -> bool:
        """Whether the number of tokens of a call matters."""
        return self._tokens is not None

    async def enter(self, conversation: str, tokens: int) -> None:
        """Return when it is this call's turn, which lasts until `leave`. If cancelled, it has had no turn."""
        turn = _Turn(conversation, tokens)
        self._line.join(turn)
        if self._line.first() is turn:
            self._serve()
        try:
            await turn.granted
        except BaseException:
            if turn.granted.done() and not turn.granted.cancelled():  # it was cancelled just after its turn had come
                self._take(turn, -1)
            self._line.leave(turn)
            self._serve()
            raise

    def leave(self, more_tokens: int) -> None:
        """End a call, which used `more_tokens` more than estimated, or less if negative."""
        self._in_flight -= 1
        if self._tokens is not None:
            self._tokens.take(more_tokens)
        self._serve()

    def _serve(self) -> None:
        """Serve the calls that fit; try again when the first that does not fit can be served, or when a call ends."""
        if self._stop_waiting is not None:
            self._stop_waiting()
            self._stop_waiting = None
        while (turn := self._line.first()) is not None:
            if turn.granted.done():  # it was cancelled, and is about to leave
                self._line.leave(turn)
                continue
            if self._calls is not None and self._in_flight >= self._calls:
                return
            if wait := self._wait(turn):
                self._stop_waiting = self._later(wait, self._serve)
                return
            self._line.serve(turn)
            self._take(turn, 1)
            turn.granted.set_result(None)

    def _wait(self, turn: _Turn) -> float:
        now = self._clock()
        requests = 0.0 if self._requests is None else self._requests.wait(1, now)
        tokens = 0.0 if self._tokens is None else self._tokens.wait(turn.tokens, now)
        return max(requests, tokens)

    def _take(self, turn: _Turn, sign: int) -> None:
        """Take out the amounts of a turn, or put them back with -1."""
        self._in_flight += sign
        if self._requests is not None:
            self._requests.take(sign)
        if self._tokens is not None:
            self._tokens.take(sign * turn.tokens)

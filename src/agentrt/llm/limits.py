"""`LimitedClient`: calls wait their turn, so that a provider gets what it takes and conversations share it fairly."""

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
"""The key of the limits of every provider that has none of its own."""

_EXACT = 1e-6
"""Of a request or of a token: what may be missing, since the time until it is there is rounded."""


class ProviderLimits(Given, frozen=True, kw_only=True, omit_defaults=True):
    """What a provider takes: `calls` at once, and requests and tokens a minute; None: any number."""

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

    `limits` has them by provider, and under "*" those of every other one, each by itself. A call that has to wait does
    so in line: the conversations that wait are served in turn, one call each, and the calls of one in their order. The
    tokens of a prompt are estimated before its call, and what the call really used is booked once the reply tells.
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
        """The inner client's reply, once it is this call's turn. Raises what it raises."""
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
        """The gate of a model's provider; None where nothing is limited."""
        provider, slash, _ = model.partition("/")
        provider = provider if slash else ""
        if (gate := self._gates.get(provider)) is None:
            limits = self._limits.get(provider, self._limits.get(OTHERS))
            if limits is None:
                return None
            gate = self._gates[provider] = _Gate(limits, self._clock, self._later)
        return gate


class _Turn:
    """A call in line."""

    __slots__ = ("conversation", "granted", "tokens")

    def __init__(self, conversation: str, tokens: int) -> None:
        self.conversation, self.tokens = conversation, tokens
        self.granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _Line:
    """Those that wait, each conversation's in their order. All of it is O(1)."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, OrderedDict[_Turn, None]] = OrderedDict()
        """By conversation: the one that is served next comes first."""

    def first(self) -> _Turn | None:
        """The one that is served next."""
        for turns in self._turns.values():
            return next(iter(turns))
        return None

    def join(self, turn: _Turn) -> None:
        """Behind those of its conversation, which is behind the others when it had none."""
        self._turns.setdefault(turn.conversation, OrderedDict())[turn] = None

    def leave(self, turn: _Turn) -> None:
        """Without being served; of no effect for one that is not in line."""
        turns = self._turns.get(turn.conversation)
        if turns is not None and turn in turns:
            del turns[turn]
            if not turns:
                del self._turns[turn.conversation]

    def serve(self, turn: _Turn) -> None:
        """Take it out; its conversation is behind the others now."""
        self.leave(turn)
        if turn.conversation in self._turns:
            self._turns.move_to_end(turn.conversation)


class _Bucket:
    """Takes so much a minute: it holds that much, fills up evenly, and may be in debt (a token bucket).

    What is more than it can ever hold passes when it is full.
    """

    def __init__(self, per_minute: int, now: float) -> None:
        self._size, self._rate = per_minute, per_minute / 60
        self._level, self._filled = float(per_minute), now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until that much is there, 0 when it is."""
        self._level = min(self._size, self._level + (now - self._filled) * self._rate)
        self._filled = now
        missing = min(amount, self._size) - self._level
        return missing / self._rate if missing > _EXACT else 0.0

    def take(self, amount: float) -> None:
        """Take that much out, or put it back when it is negative."""
        self._level -= amount


class _Gate:
    """One provider's limits, and those that wait for it. Between two awaits its line is served as far as it can be."""

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
        """Whether it matters how many tokens a call has."""
        return self._tokens is not None

    async def enter(self, conversation: str, tokens: int) -> None:
        """Return when it is this call's turn, which lasts until `leave`. Cancelled, it had none."""
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
        """A call has ended that used so many more tokens than it was said to, or less."""
        self._in_flight -= 1
        if self._tokens is not None:
            self._tokens.take(more_tokens)
        self._serve()

    def _serve(self) -> None:
        """Let in who may; for the first who may not yet, come back when it may, or when a call ends."""
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
        """What a turn takes, or with -1 gives back."""
        self._in_flight += sign
        if self._requests is not None:
            self._requests.take(sign)
        if self._tokens is not None:
            self._tokens.take(sign * turn.tokens)

"""Tools for a model without function calling: described in its prompt, called in its text. Pure.

A call is a `<function=NAME>` that contains `<parameter=NAME>` tags. Tags in a value belong to it if they are balanced.
If they are not, a value ends at the next tag, provided that this is a closing tag, or opens another parameter after a
value of one line (or of JSON), and that all closing tags fit. An ambiguous call is not run, since half a file would be
written: the model is told so, and can always send such a value as JSON in a `<tool_call>`. Reading stops at the first
call that cannot be read, because what follows may be a part of it. One case cannot be detected: a value that closes
what it did not open and then opens something, as if it were a call itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..ids import new_id
from ..specs import Content, ToolDefinition
from ..specs.content import text as words
from .describing import FORM, JSON_FORM, describe
from .messages import Message, ToolCall
from .repair import admitted, json_end, named, parameters, read, typed

__all__ = ["CUT", "Parsed", "describe", "parse", "prompted", "rendered"]

CUT = (
    "Your reply was cut at the limit of output tokens in the middle of a tool call, so that call is not run. Send less"
    " at once: write long files in several parts."
)

_TAG = re.compile(
    r"<(?:(?P<open>function|parameter)(?:\s*+=|\s++name\s*+=)\s*+(?P<quote>[\"']?)(?P<name>[^\"'<>\n]*+)"
    r"(?P=quote)\s*+>"
    r"|/(?P<close>function|parameter|tool_call)\s*>|(?P<json>tool_call)\s*>)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"<function(?:\s*|\s+name\s*)=[^\n]{0,40}", re.IGNORECASE)
_NAME = re.compile(r"[^\s\"'<>](?:[^\"'<>\n]*[^\s\"'<>])?")
_ONE_LINE = re.compile(r"[^\n]+\n[ \t]*")
_FENCE = re.compile(r"```[\w-]*\s*\Z")
_FENCE_END = re.compile(r"\s*```(?!\w)")
_JSON = re.compile(r"\s*(?:```\w*\s*)?[{\[]")


class Parsed(msgspec.Struct, frozen=True):
    """The calls in a text. `thought` is the rest of the text, including calls that could not be read; `complaint` tells
    the model about these.
    """

    thought: str
    calls: tuple[ToolCall, ...] = ()
    complaint: str | None = None


# To the model


def prompted(messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> list[Message]:
    """Return a conversation in the form for such a model: calls as text, results as user messages.

    The result for a longer conversation begins with that for a shorter one, if the shorter one ends with a complete
    batch and its results.
    """
    found: list[Message] = []
    asked: dict[str, str] = {}
    if tools and messages and messages[0].role != "system":
        found.append(Message("system", words(describe(tools))))
    for number, message in enumerate(messages):
        if message.role == "system" and not number and tools:
            found.append(replace(message, content=_with(message.content, f"\n{describe(tools)}")))
        elif message.tool_calls:
            several = len(message.tool_calls) > 1
            for place, call in enumerate(message.tool_calls, 1):
                asked[call.id] = f"{call.name} (call {place})" if several else call.name
            calls = words(rendered(message.tool_calls, tools))
            found.append(replace(message, content=(*message.content, *calls), tool_calls=()))
        elif message.role == "tool":
            head = words(f"Result of {asked.get(message.tool_call_id or '', 'a tool')}:")
            found.append(replace(message, role="user", content=(*head, *message.content), tool_call_id=None))
        else:
            found.append(message)
    return found


def _with(content: tuple[Content, ...], described: str) -> tuple[Content, ...]:
    """Return the instructions with the tools, which come before the part that is specific to this conversation, so that
    they are cached together.
    """
    return (*content[:1], *words(described), *content[1:])


def rendered(calls: Iterable[ToolCall], tools: Sequence[ToolDefinition]) -> str:
    """Return calls in the described form, or as JSON where that form could not be read back."""
    return "\n".join(_rendered(call, tools) for call in calls)


def _rendered(call: ToolCall, tools: Sequence[ToolDefinition]) -> str:
    _, arguments = read(call.arguments or "{}")
    as_json = f"<tool_call>\n{_json({'name': call.name, 'arguments': arguments})}\n</tool_call>"
    if not isinstance(arguments, dict) or not _NAME.fullmatch(call.name):
        return as_json
    lines = [f"<function={call.name}>"]
    shape = _shape(call.name, tools)
    for name, value in arguments.items():
        shown = value if isinstance(value, str) else _json(value)
        again = typed(shown, shape["properties"].get(name), shape) if shape is not None else shown
        if not _NAME.fullmatch(name) or _parameter(name, shape) != name or _json(again) != _json(value):
            return as_json
        if _TAG.search(shown):
            return as_json
        lines.append(f"<parameter={name}>" + (f"\n{shown}\n" if "\n" in shown else shown) + "</parameter>")
    return "\n".join((*lines, "</function>"))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# From the model


class _Unreadable(Exception):
    """Raised if the tags of a call do not fit together; `ended` says that the text ended within the call."""

    def __init__(self, why: str, *, ended: bool = False) -> None:
        super().__init__(why)
        self.ended = ended


class _Read(NamedTuple):
    """Calls, with the part of the text that they take and the number of the next tag.

    `sure` says that their end is certain, as in JSON; a call in tags may have ended at a tag in its own value.
    """

    calls: tuple[ToolCall, ...]
    start: int
    end: int
    next: int
    sure: bool = False


def parse(text: str, tools: Sequence[ToolDefinition], *, cut: bool = False) -> Parsed:
    """Return the calls in a reply; `cut` says that a limit ended the reply, so its last call may be incomplete."""
    return _Reader(text, tools, cut=cut).parsed()


class _Reader:
    def __init__(self, text: str, tools: Sequence[ToolDefinition], *, cut: bool) -> None:
        self._text, self._tools, self._cut = text, tools, cut
        self._tags = list(_TAG.finditer(text))

    def parsed(self) -> Parsed:
        found: list[_Read] = []
        complaint: str | None = None
        place = 0
        try:
            while place < len(self._tags):
                if (one := self._call(place, first=not found)) is not None:
                    found.append(one)
                place = one.next if one is not None else place + 1
            rest = self._text[found[-1].end :] if found else self._text
            if self._cut and _begins(rest):
                raise _Unreadable("it is cut", ended=True)
            if self._cut and rest.strip() and found and not found[-1].sure:
                _doubt(found)
                raise _Unreadable("it is cut", ended=True)
            if half := _OPENING.search(_outside(self._text, found)):
                raise _Unreadable(f"{half[0]} has no name and > behind it")
        except _Unreadable as bad:
            if not bad.ended and self._closes_more(place):
                _doubt(found)
            complaint = _complaint(bad, cut=self._cut, before=bool(found))
        calls = tuple(call for one in found for call in one.calls)
        return Parsed(_outside(self._text, found) if found else self._text, calls, complaint)

    def _call(self, place: int, *, first: bool) -> _Read | None:
        """Return the call that begins with a tag; None for a tag in prose, such as a closing tag before any call."""
        tag, kind = self._tags[place], self._kind(place)
        if kind == "/tool_call" or (first and kind.startswith("/")):
            return None
        if kind not in ("function", "tool_call"):
            raise _Unreadable(f"{tag[0]} stands where no call is open")
        if kind == "function":
            return self._wrapped(self._in_tags(place))
        if self._kind(place + 1) == "function" and not self._between(tag.end(), place + 1):
            return self._wrapped(self._in_tags(place + 1))._replace(start=tag.start())
        return self._wrapped(self._in_json(place))

    def _wrapped(self, one: _Read) -> _Read:
        """Return the call with the tag that closes the `<tool_call>` around it, if any."""
        if self._kind(one.next) == "/tool_call" and self._between(one.end, one.next) in ("", "```"):
            return one._replace(end=self._tags[one.next].end(), next=one.next + 1)
        return one

    def _kind(self, place: int) -> str:
        """Return the kind of a tag, such as "function" or "/function"; "" at the end of the text."""
        if place >= len(self._tags):
            return ""
        tag = self._tags[place]
        return (f"/{tag['close']}" if tag["close"] else tag["open"] or tag["json"]).lower()

    def _between(self, start: int, place: int) -> str:
        """Return the text up to a tag, or up to the end, without the space around it."""
        end = self._tags[place].start() if place < len(self._tags) else len(self._text)
        return self._text[start:end].strip()

    def _closes_more(self, place: int) -> bool:
        """Return whether a tag from here on closes something that was opened before."""
        opened = {"function": 0, "parameter": 0, "tool_call": len(self._tags)}
        for number in range(place, len(self._tags)):
            kind = self._kind(number)
            opened[kind.removeprefix("/")] += -1 if kind.startswith("/") else 1
            if min(opened.values()) < 0:
                return True
        return False

    def _in_tags(self, place: int) -> _Read:
        tag = self._tags[place]
        name = tag["name"].strip()
        if not name:
            raise _Unreadable(f"{tag[0]} names no tool")
        try:
            arguments, end, following = self._arguments(place, name, paired=True)
        except _Unreadable as bad:
            if bad.ended and self._cut:
                raise
            arguments, end, following = self._arguments(place, name, paired=False)
        return _Read((ToolCall(f"call_{new_id()}", name, _json(arguments)),), tag.start(), end, following)

    def _arguments(self, place: int, tool: str, *, paired: bool) -> tuple[dict[str, Any], int, int]:
        """Return the arguments of a call, the position of its end, and the number of the tag after it.

        If `paired`, each value ends with its own closing tag, and only that of the call may be missing. Otherwise a
        value ends at the next tag (see `_next`).
        """
        shape = _shape(tool, self._tools)
        arguments: dict[str, Any] = {}
        end, place = self._tags[place].end(), place + 1
        while (kind := self._kind(place)) == "parameter" and not self._between(end, place):
            key = self._key(place, tool, shape, arguments)
            close = self._pair(place, key) if paired else self._next(place, key, shape, arguments)
            value = self._text[self._tags[place].end() : self._tags[close].start()]
            explicit = self._kind(close) == "/parameter"
            arguments[key] = _value(value if explicit else re.sub(r"\n[ \t]+\Z", "\n", value), key, shape)
            end, place = (self._tags[close].end(), close + 1) if explicit else (self._tags[close].start(), close)
        rest = self._between(end, place)
        if kind == "/function" and not rest:
            return arguments, self._tags[place].end(), place + 1
        half = "</function".startswith(rest.lower())
        if not kind and (self._cut or not (half or rest == "```")):
            raise _Unreadable(f"the call of {tool} is not closed by </function>", ended=self._cut)
        if kind and (rest or kind.startswith("/p")):
            raise _Unreadable(f"in the call of {tool} there is text outside of its parameters: {(rest or kind)[:80]!r}")
        if not paired:
            raise _Unreadable(f"the call of {tool} is not closed by </function>")
        return arguments, len(self._text) if not kind and half else end, place

    def _key(self, place: int, tool: str, shape: dict[str, Any] | None, given: dict[str, Any]) -> str:
        name = self._tags[place]["name"].strip()
        key = _parameter(name, shape)
        if key is None:
            others = ", ".join(shape["properties"]) if shape is not None else ""
            raise _Unreadable(f"{tool} has no parameter {name!r}; its parameters are: {others}")
        if key in given:
            raise _Unreadable(f"{tool} is given {key!r} twice")
        return key

    def _pair(self, place: int, key: str) -> int:
        """Return the number of the tag that closes a parameter, skipping pairs of tags in its value."""
        opened = ["parameter"]
        for number in range(place + 1, len(self._tags)):
            kind = self._kind(number)
            if not kind.startswith("/"):
                opened.append(kind)
            elif opened.pop() != kind[1:]:
                break
            elif not opened:
                return number
        else:
            raise _Unreadable(f"the value of {key!r} is not closed by </parameter>", ended=True)
        raise _Unreadable(f"in the value of {key!r} tags open and close that are no pairs")

    def _next(self, place: int, key: str, shape: dict[str, Any] | None, given: dict[str, Any]) -> int:
        """Return the number of the tag after a parameter, if that can only be its end."""
        kind = self._kind(place + 1)
        if kind in ("/parameter", "/function"):
            return place + 1
        if kind == "parameter":
            tag = self._tags[place + 1]
            line = _ONE_LINE.fullmatch(self._text, self._tags[place].end(), tag.start()) is not None
            text = shape is None or "string" in admitted(shape["properties"].get(key), shape)
            other = _parameter(tag["name"].strip(), shape)
            if (line or not text) and other is not None and other != key and other not in given:
                return place + 1
        if not kind:
            raise _Unreadable(f"the value of {key!r} is not closed by </parameter>", ended=True)
        raise _Unreadable(f"the value of {key!r} has a tag in it, and it is not plain where it ends")

    def _in_json(self, place: int) -> _Read:
        start = self._tags[place].start()
        calls: list[ToolCall] = []
        end = self._tags[place].end()
        while begun := _JSON.match(self._text, end):
            stop = json_end(self._text, begun.end() - 1)
            if stop is None:
                raise _Unreadable("the JSON of a <tool_call> does not end", ended=True)
            calls += _calls(self._text[begun.end() - 1 : stop])
            end = stop
        if not calls:
            raise _Unreadable("no JSON follows <tool_call>", ended=not self._text[end:].strip())
        following = place + 1
        while following < len(self._tags) and self._tags[following].start() < end:
            following += 1
        return _Read(tuple(calls), start, end, following, sure=True)


def _calls(text: str) -> Iterable[ToolCall]:
    """Yield the calls in a JSON text. Raises `_Unreadable`."""
    try:
        _, value = read(text)
    except ValueError as error:
        raise _Unreadable(f"the JSON of a <tool_call> is not valid ({error})") from None
    for one in value if isinstance(value, list) else [value]:
        match one:
            case {"name": str(name)} | {"function": {"name": str(name)}} if name:
                said = one if "name" in one else one["function"]
                arguments = said.get("arguments", said.get("parameters", {}))
                yield ToolCall(f"call_{new_id()}", name, arguments if isinstance(arguments, str) else _json(arguments))
            case _:
                raise _Unreadable("the JSON of a <tool_call> is an object with a name and arguments")


def _shape(tool: str, tools: Sequence[ToolDefinition]) -> dict[str, Any] | None:
    """Return the schema of the tool that a name means; None if there is none."""
    name = named(tool, tools)
    return next((parameters(definition) for definition in tools if definition.name == name), None)


def _parameter(name: str, shape: dict[str, Any] | None) -> str | None:
    """Return the parameter that a name means; None if there is none."""
    known: dict[str, Any] = shape["properties"] if shape is not None else {}
    alike = [key for key in known if key.lower() == name.lower()]
    if not name or name in known or len(alike) == 1:
        return name if name in known else alike[0] if alike else None
    return name if shape is None or not known or shape.get("additionalProperties") else None


def _value(text: str, key: str, shape: dict[str, Any] | None) -> Any:
    text = text[1:] if text.startswith("\n") else text
    text = text[:-1] if text.endswith("\n") else text
    return text if shape is None else typed(text, shape["properties"].get(key), shape)


def _doubt(found: list[_Read]) -> None:
    """Drop the first call that may have ended too early, at a tag in its own value, and all calls after it."""
    del found[next((number for number, one in enumerate(found) if not one.sure), len(found)) :]


def _complaint(bad: _Unreadable, *, cut: bool, before: bool) -> str:
    others = " The calls before it are run." if before else ""
    if bad.ended and cut:
        return f"{CUT}{others}"
    return (
        f"A tool call in your reply could not be read, so it is not run: {bad}.{others} This is the form:\n{FORM}\n"
        f"And this one, when a value has such tags in it:\n{JSON_FORM}"
    )


def _begins(rest: str) -> bool:
    """Return whether a text ends within the tag that begins a call."""
    last = rest[rest.rfind("<") :].lower() if "<" in rest else ">"
    return ">" not in last and any(last.startswith(tag) or tag.startswith(last) for tag in ("<function", "<tool_call"))


def _outside(text: str, found: Sequence[_Read]) -> str:
    """Return the text without the calls in it, and without the fences around them."""
    starts = [0, *(one.end for one in found)]
    parts = [text[start:end] for start, end in zip(starts, [*(one.start for one in found), len(text)], strict=True)]
    for number in range(len(found)):
        if opening := _FENCE.search(parts[number]):
            after = next((n for n in range(number + 1, len(parts)) if parts[n].strip()), len(found))
            closing = _FENCE_END.match(parts[after])
            if closing or not parts[after].strip():
                parts[number] = parts[number][: opening.start()]
                parts[after] = parts[after][closing.end() :] if closing else ""
    return "\n\n".join(part.strip() for part in parts if part.strip())

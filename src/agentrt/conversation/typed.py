"""`prompt_for`: a message to the agent whose answer is a value of a type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import ConfigurationError, NoAnswer
from ..specs import Content, TextContent
from ..specs.schemas import Reader, is_type, reader_of, schema_of
from .run import answer_of

if TYPE_CHECKING:
    from .conversation import Conversation

STARTS = 100
"""Maximum number of places in an answer at which a value is looked for."""

ATTEMPTS = 3
"""Maximum number of answers that are asked for until one fits."""

_ASKED = """\
When the task is done, answer with one JSON value that fits this schema, and nothing else, as the message of `finish`:
{schema}"""
_AGAIN = """\
That answer does not fit: {why}
Answer with one JSON value that fits the schema, and nothing else."""
_BEGIN = re.compile(r"[\[{]")


async def prompt_for(conversation: Conversation, message: str | Iterable[Content], kind: Any) -> Any:
    """Send a message, and return the answer as a value of a type. Raises what `Conversation.prompt` raises."""
    if not is_type(kind):
        raise ConfigurationError(f"prompt(output=...): expected a type, such as list[int], not {type(kind).__name__}")
    schema, read = schema_of(kind), reader_of(kind)
    asked = (TextContent(message),) if isinstance(message, str) else tuple(message)
    if conversation.state.spec.output == schema:  # its `finish` has such a value besides words
        await conversation.send_message(asked)
        answer_of(await conversation.run())
        return await conversation.output(kind)
    await conversation.send_message((*asked, TextContent(_ASKED.format(schema=msgspec.json.encode(schema).decode()))))
    attempt = 1
    while True:
        state = await conversation.run()
        try:
            return value_in(answer_of(state), read)
        except msgspec.ValidationError as error:
            if attempt == ATTEMPTS:
                raise NoAnswer(state.status, f"no answer fits the type: {error}") from error
            attempt += 1
            await conversation.send_message(_AGAIN.format(why=error))


def value_in(answer: str, read: Reader) -> Any:
    """Return the value in an answer: all of it, or the only one that fits in a fence, or else between words.

    Raises `msgspec.ValidationError` if there is none, if none fits, or if it is not clear which one is meant.
    """
    failure: msgspec.ValidationError | None = None
    for texts in ([answer.strip()], _fenced(answer), _outermost(answer)):
        fitting = list[Any]()
        for text in texts:
            data = text.encode("utf-8", "replace")
            try:
                msgspec.json.decode(data)
                fitting.append(read(data))
            except msgspec.ValidationError as error:
                failure = failure or error
            except (msgspec.DecodeError, RecursionError):
                pass
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise msgspec.ValidationError(f"{len(fitting)} values in it fit: answer with one alone")
    raise failure or msgspec.ValidationError("it has no JSON")


def _fenced(answer: str) -> list[str]:
    return [text.strip().removeprefix("json") for text in answer.split("```")[1::2]]


def _outermost(answer: str) -> list[str]:
    """Return the objects and lists between the words of an answer."""
    found, at, decoder = list[str](), 0, json.JSONDecoder()
    for _ in range(STARTS):
        begin = _BEGIN.search(answer, at)
        if begin is None:
            break
        try:
            _, at = decoder.raw_decode(answer, begin.start())
        except (ValueError, RecursionError):
            at = begin.start() + 1
        else:
            found.append(answer[begin.start() : at])
    return found

"""`Mask`: takes what is secret out of what is written down. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..specs import AnyLLM
from ..specs.llm import members

MASKED = "<secret>"

_KEY_VARIABLE = re.compile(r"_API_KEY$")

SHORTEST_KEY = 8
"""Characters from which on the value of such a variable is taken for a key: "none" and the like stay words."""

_KEY_HEADER = re.compile(r"authorization|api-?key|auth-?token|access-?token|secret|password|cookie")

_OF_A_KIND = frozenset({"role", "type", "api", "reasoning_effort", "reasoning_summary"})
"""Members that have one of a few words, which stay when a secret happens to be that word."""

_TIMES_ESCAPED = 2
"""How often a secret may be escaped in a text: JSON in a string in JSON."""


def holds_key(header: str) -> bool:
    """Whether a header, or a member of a request's body, is one that keys are sent in."""
    return _KEY_HEADER.search(header.lower().replace("_", "-")) is not None


def keys_of(llm: AnyLLM, environment: Mapping[str, str]) -> list[str]:
    """The values of 8 characters or more of the variables that the models of `llm` name, and of every *_API_KEY."""
    named = {member.api_key_env for member in members(llm)}
    keys = [value for name, value in environment.items() if name in named or _KEY_VARIABLE.search(name)]
    return [key for key in keys if len(key) >= SHORTEST_KEY]


class Mask:
    """Replaces secrets by `<secret>`, also where a text has them escaped as JSON. Encoded otherwise they stay."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))  # one may be a part of another
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def text(self, text: str) -> str:
        """A text without them."""
        return text if self._secrets is None else self._secrets.sub(MASKED, text)

    def json(self, value: Any) -> Any:
        """What JSON decoded to, without them in its strings; headers that keys are sent in lose their value as well."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.json(item) for item in value]
            case dict():
                return {name: self._member(name, item) for name, item in value.items()}
            case _:
                return value

    def _member(self, name: str, value: Any) -> Any:
        if name in _OF_A_KIND and isinstance(value, str):
            return value
        if name == "extra_headers" and isinstance(value, dict):
            return {header: MASKED if holds_key(header) else self.json(item) for header, item in value.items()}
        return self.json(value)


def _forms(secret: str) -> set[str]:
    """A secret as it is, and as it stands in JSON, with other than ASCII characters escaped or not."""
    forms = {secret}
    for ascii_only in (False, True):
        form = secret
        for _ in range(_TIMES_ESCAPED):
            form = json.dumps(form, ensure_ascii=ascii_only)[1:-1]
            forms.add(form)
    return forms

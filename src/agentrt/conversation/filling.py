"""Answers to forms that tools show to the user."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..controls import GiveInput
from ..errors import ConfigurationError
from ..events import InputRequested
from ..specs.schemas import defaults_of, misfit


def check_form(asked: Iterable[InputRequested], given: GiveInput) -> None:
    """Raise `ConfigurationError` if an answer does not fit its form. A missing value that has a default is valid."""
    request = next((one for one in asked if one.id == given.request_id), None)
    if request is None or request.url:
        return
    form: dict[str, Any] = msgspec.json.decode(request.schema)
    if (problem := misfit(form, {**defaults_of(form), **given.content})) is not None:
        raise ConfigurationError(f"it does not fit the form: {problem}")

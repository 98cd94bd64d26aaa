"""`Document`: what was read of a document, and what was wanted of it. Pure."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..errors import AgentrtError

BEGINNING = 28_000
"""Characters of a document that are given where no part of it is asked for."""

MOST = 1_000_000
"""Characters that are given at most."""


class Wanted(msgspec.Struct, frozen=True):
    """What is asked of a document: its beginning, the parts that `pages` names, or those in which `query` stands.

    `pages` are numbers from 1 and ranges such as "1-3,7,10-", names of sheets, rows of one ("Sheet1!100-200"), or the
    name of an entry. `limit` is in characters: no part is begun that would go past it, but for the first one.

    With `media`, what is no text goes along: pages that have none as pictures, the sound of a recording, and so many
    `pictures` of its film: one in so many frames (`every`), or with 0 spread over the parts that are asked for.
    """

    pages: str = ""
    query: str = ""
    limit: int = BEGINNING
    media: bool = False
    pictures: int = 10
    every: int = 0


class Picture(msgspec.Struct, frozen=True):
    """A page, or a frame of a film, as a JPEG; what it is of: "at 1:30"."""

    label: str
    jpeg: bytes


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page, slide, sheet, chapter or cell: its number from 1, its name ("" where it has none), its Markdown.

    Of a recording `sound` is a part of it as MP3, `seconds` long.
    """

    number: int
    name: str
    text: str
    pictures: tuple[Picture, ...] = ()
    sound: bytes = b""
    seconds: float = 0.0


class Document(msgspec.Struct, frozen=True, tag="document"):
    """Some parts of a document.

    `kind` is what a person calls it ("PDF"), `unit` what one part is called ("page"), `total` how many there are.
    `more` is the `pages` to ask for to go on, "" at the end; `notes` are sentences about what is not shown.
    """

    kind: str
    unit: str
    total: int
    parts: tuple[Part, ...] = ()
    title: str = ""
    more: str = ""
    notes: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A document cannot be read: a sentence to stand behind its name."""

    reason: str


class Missing(msgspec.Struct, frozen=True, tag="missing"):
    """A library is not installed: its name, and what its import said."""

    name: str
    reason: str


Reply: TypeAlias = Document | Refused | Missing
"""What the worker answers."""


class Unreadable(AgentrtError):
    """Raised for a document, or a part of one, that cannot be read. Its text stands behind the document's name: "is
    encrypted: save it without a password".
    """


DAMAGED = "is damaged or cut off: have it downloaded or saved anew"
ENCRYPTED = "is encrypted: save it without a password first"

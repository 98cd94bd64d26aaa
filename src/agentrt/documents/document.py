"""`Wanted`: the parts of a document that are asked for; `Document`: the parts that were read. Pure."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..errors import AgentrtError

BEGINNING = 28_000
"""Characters of a document that are returned if no part of it is asked for."""

MOST = 1_000_000
"""Maximum characters that are returned."""


class Wanted(msgspec.Struct, frozen=True):
    """A request for parts of a document: its beginning, the parts that `pages` names, or those that contain `query`.

    `pages` are numbers from 1 and ranges such as "1-3,7,10-", names of sheets, rows of a sheet ("Sheet1!100-200"), or
    the name of an entry. `limit` is in characters: the parts end before one that would exceed it; a first part that is
    too long is cut.

    With `media`, the result also has pictures of pages without text, the sound of a recording, and frames of its video:
    one in `every` frames, or, if that is 0, spread over the requested parts. There are at most `pictures` pages or
    frames.
    """

    pages: str = ""
    query: str = ""
    limit: int = BEGINNING
    media: bool = False
    pictures: int = 10
    every: int = 0


class Picture(msgspec.Struct, frozen=True):
    """A page, an image or a video frame as a JPEG; `label` says which, such as "at 1:30"."""

    label: str
    jpeg: bytes


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page, slide, sheet, chapter or cell: its number from 1, its name ("" if it has none), its Markdown.

    In a part of a recording, `sound` is its audio as MP3, `seconds` long.
    """

    number: int
    name: str
    text: str
    pictures: tuple[Picture, ...] = ()
    sound: bytes = b""
    seconds: float = 0.0


class Document(msgspec.Struct, frozen=True, tag="document"):
    """Some parts of a document.

    `kind` is the document's type in a person's words ("PDF"), `unit` the word for a part ("page"), `total` the number
    of parts. `more` is the value of `pages` to continue with, "" at the end; `notes` are remarks for the reader.
    """

    kind: str
    unit: str
    total: int
    parts: tuple[Part, ...] = ()
    title: str = ""
    more: str = ""
    notes: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The document cannot be read. `reason` is text that follows its name: "is empty"."""

    reason: str


class Missing(msgspec.Struct, frozen=True, tag="missing"):
    """A library is not installed: its name, and the message of its import."""

    name: str
    reason: str


Reply: TypeAlias = Document | Refused | Missing
"""The worker's answer."""


class Unreadable(AgentrtError):
    """Raised if a document, or a part of it, cannot be read. Its text follows the document's name: "is encrypted: save
    it without a password".
    """


DAMAGED = "is damaged or cut off: have it downloaded or saved anew"
ENCRYPTED = "is encrypted: save it without a password first"

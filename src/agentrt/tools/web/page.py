"""`Page`: the content of an HTTP answer, by its kind. Pure."""

from __future__ import annotations

import base64
import re
from urllib.parse import urlsplit

import msgspec

from ...documents.charsets import text_of
from ...documents.kinds import image_type, is_document, wanted_type
from ...network import Answer
from ...specs.content import sound

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|typescript|sql"
    r"|graphql|x-sh|x-ndjson|ndjson|jsonl|x-www-form-urlencoded|xml-dtd|rtf|x-tex|x-httpd-php)|image/svg\+xml"
    r"|message/.*"
)
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown", "*/*"})
_LOOKS_LIKE_HTML = re.compile(rb"(?i)^\s*+(?:\xef\xbb\xbf)?\s*+<(?:!doctype html|html|head|body)\b")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Page(msgspec.Struct, frozen=True):
    """The content of an answer: its `source` as text, an `image` as a data URL, or the bytes of a `document` such as a
    PDF. All three are empty for other content.
    """

    url: str
    status: int
    media_type: str
    size: int | None
    source: str = ""
    image: str = ""
    document: bytes = b""
    is_html: bool = False
    is_text: bool = False

    @property
    def room(self) -> int:
        """Approximate size in memory, in characters."""
        return len(self.source) + len(self.image) + len(self.document)


def wanted(media_type: str) -> bool:
    """Return whether a media type may be that of text, an image that a model can see, or a readable document."""
    image = media_type in ("image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp")
    return image or wanted_type(media_type) or media_type in _UNSAID or _TEXTS.fullmatch(media_type) is not None


def page_of(answer: Answer) -> Page:
    """Return the content of an answer. Its first bytes tell the kind if they can, else its media type does."""
    body, media_type = answer.body, answer.media_type
    page = Page(answer.url, answer.status, media_type or "unknown type", answer.size)
    if (kind := image_type(body)) is not None:
        data = f"data:{kind};base64,{base64.b64encode(body).decode()}"
        return msgspec.structs.replace(page, image=data, media_type=kind)
    if media_type not in _HTML and is_document(urlsplit(answer.url).path, body, media_type):
        return msgspec.structs.replace(page, document=body)
    is_html = media_type in _HTML or (media_type in _UNSAID | {"text/plain"} and _says_html(body))
    if not wanted(media_type) or (media_type.startswith("image/") and media_type != "image/svg+xml"):
        return page
    markup = is_html or media_type.endswith("xml")
    text = text_of(body, answer.charset, markup=markup)
    if _is_binary(body, text):
        return page
    return msgspec.structs.replace(page, source=sound(text), is_html=is_html, is_text=True)


def _says_html(body: bytes) -> bool:
    return _LOOKS_LIKE_HTML.match(body[:1024]) is not None


def _is_binary(body: bytes, text: str) -> bool:
    """Return whether a body is binary, whatever its media type says. If its bytes look binary the decoded text decides,
    because text in a two-byte charset has NUL bytes that decoding removes.
    """
    if not _CONTROL.search(body[:4096]):
        return False
    head = text[:4096]
    odd = sum(char in "\0\ufffd" or (char < " " and char not in "\t\n\r\f\x1b") for char in head)
    return odd * 20 > len(head)

"""Audio and video, as the worker reads them."""

from __future__ import annotations

import struct
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from agentrt.documents.document import Document, Unreadable, Wanted
from agentrt.documents.kinds import format_of, is_document, kind_of
from agentrt.documents.reading import read
from agentrt.documents.recording import NOT_HEARD, PART_SECONDS, clock

from .making import FILES, lasts

pytestmark = pytest.mark.simulated

ALL = ("heron.mp3", "heron.wav", "heron.ogg", "heron.mp4", "heron.webm")


def found(name: str, **wanted: object) -> Document:
    return read((FILES / name).read_bytes(), name, Wanted(media=True, **wanted))  # type: ignore[arg-type]


def silence(seconds: int) -> bytes:
    """A WAV file of 8,000 samples a second."""
    size = seconds * 8_000
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", size + 36, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", size
    )
    return head + b"\x80" * size


@pytest.mark.parametrize("name", ALL)
def test_the_bytes_tell_that_it_is_one(name: str) -> None:
    data = (FILES / name).read_bytes()
    assert kind_of("", data) == kind_of(name, data) == "media"
    assert is_document("", data)


@pytest.mark.pure
def test_what_is_none() -> None:
    assert format_of("a.heic", b"\0\0\0\x18ftypheic") is None
    assert kind_of("a.txt", b"\xff\xfbx") == "text"
    assert format_of("a.mp3", b"\xff\xfbx") == "mp3"
    with pytest.raises(Unreadable, match="damaged"):
        read(b"no sound at all", "a.mp3", Wanted())


@pytest.mark.parametrize("name", ALL)
def test_its_sound_and_its_frames(name: str) -> None:
    document = found(name)
    (part,) = document.parts
    assert (document.unit, document.total, part.text) == ("part", 1, NOT_HEARD)
    assert lasts(part.sound) == pytest.approx(5.1, abs=0.3)
    film = name.endswith(("mp4", "webm"))
    assert document.kind == ("video, 0:08 long" if film else "audio, 0:05 long")
    assert [picture.label for picture in part.pictures] == [f"at 0:0{at}" for at in range(8 if film else 0)]
    for picture in part.pictures:
        with Image.open(BytesIO(picture.jpeg)) as image:
            assert (image.format, image.size) == ("JPEG", (320, 240))


def test_frames_are_few_and_where_they_are_wanted() -> None:
    assert [p.label for p in found("heron.mp4", pictures=2).parts[0].pictures] == ["at 0:00", "at 0:04"]
    assert [p.label for p in found("heron.mp4", every=25).parts[0].pictures] == [
        "at 0:00",
        "at 0:02",
        "at 0:05",
        "at 0:07",
    ]
    assert not read((FILES / "heron.mp4").read_bytes(), "a.mp4", Wanted()).parts[0].pictures


@pytest.mark.pure
def test_a_long_one_has_parts_of_five_minutes() -> None:
    document = read(silence(15 * 60 + 10), "a.wav", Wanted(media=True))
    assert (document.kind, document.total, document.more) == ("audio, 15:10 long", 4, "3-4")
    assert [part.name for part in document.parts] == ["0:00 to 5:00", "5:00 to 10:00"]
    last = read(silence(15 * 60 + 10), "a.wav", Wanted("4", media=True)).parts[0]
    assert last.name == "15:00 to 15:10"
    assert lasts(last.sound) == pytest.approx(10, abs=0.2)
    assert last.seconds == pytest.approx(10, abs=0.01)
    assert clock(PART_SECONDS * 12 + 5) == "1:00:05"


@pytest.mark.parametrize("name", ALL)
def test_one_that_is_cut_off_is_told_or_gives_what_is_there(name: str) -> None:
    data = (FILES / name).read_bytes()
    for length in (len(data) // 2, len(data) // 10, 40):
        with suppress(Unreadable):
            document = read(data[:length], name, Wanted(media=True))
            assert any(part.sound or part.pictures for part in document.parts)


def test_a_playlist_opens_no_other_file(tmp_path: Path) -> None:
    canary = tmp_path / "canary.mp3"
    canary.write_bytes((FILES / "heron.mp3").read_bytes())
    lists = {
        "a.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{canary}\n#EXT-X-ENDLIST\n",
        "a.ffconcat": f"ffconcat version 1.0\nfile '{canary}'\n",
    }
    for text in lists.values():
        for name in ("a.mp3", "a.mp4", "a.wav"):
            with pytest.raises(Unreadable, match="damaged"):
                read(text.encode(), name, Wanted(media=True))

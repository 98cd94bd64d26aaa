"""Audio and video: their parts of five minutes as MP3 for a model that hears, and frames as JPEG for one that sees.

They are decoded by PyAV, which contains FFmpeg. `kinds.format_of` decides the format. FFmpeg never guesses it, because
some formats that it would guess (playlists) are lists of other files to open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import islice, pairwise
from typing import Any

from msgspec.structs import replace

from .document import DAMAGED, Part, Picture, Unreadable, Wanted
from .picture import jpeg

PART_SECONDS = 300
"""Seconds of a part."""

LONGEST = 24 * 3600
"""Maximum length of a recording in seconds, whatever the file declares."""

FIRST_PARTS, MOST_PARTS = 2, 12
"""Number of parts that are returned if none is asked for, and at most: an hour."""

NOT_HEARD = "[read_document writes down what is said here]"
"""Placeholder for the text of a part that has not been transcribed."""

CUT = "the file is cut off: what was found in it is given"

RATE, BITS = 16_000, 32_000
"""Samples and bits a second of the returned sound, on one channel: what speech needs."""

MOST_PIXELS = 89_000_000
SIDE = 1_024
"""Maximum pixels of a frame that is decoded, and of the longer side of one that is returned."""

EXACT_SECONDS = 3.0
"""If frames are further apart than this, in seconds, key frames are used: others take long to decode."""

_MICRO = 1_000_000
"""FFmpeg's AV_TIME_BASE: ticks of its clock a second."""


class Recording:
    """A `Source` whose parts are periods of time. Raises `Unreadable`."""

    unit = "part"

    def __init__(self, data: bytes, form: str) -> None:
        import av

        self._av: Any = av
        self._data, self._form = data, form
        try:
            self._file = self._opened()
            streams = self._file.streams
            self._sound = streams.audio[0] if streams.audio else None
            self._film: Any = next((one for one in streams.video if not _is_cover(one)), None)
            self.seconds = min(self._length(), LONGEST)
        except (self._av.FFmpegError, ValueError) as error:
            raise Unreadable(DAMAGED) from error
        if (self._sound is None and self._film is None) or not self.seconds:
            raise Unreadable(DAMAGED)
        if self._film is not None and self._film.width * self._film.height > MOST_PIXELS:
            raise Unreadable("has more than 89 million pixels a frame: refused")
        self.kind = f"{'video' if self._film is not None else 'audio'}, {clock(self.seconds)} long"
        self.title = " ".join(str(self._file.metadata.get("title", "")).split())[:200]
        count = max(1, -(-int(self.seconds) // PART_SECONDS))
        self.names: Sequence[str] = [
            f"{clock(n * PART_SECONDS)} to {clock(min((n + 1) * PART_SECONDS, self.seconds))}" for n in range(count)
        ]
        self._is_cut = False

    @property
    def notes(self) -> tuple[str, ...]:
        silent = ("it has no sound",) if self._sound is None else ()
        return (*silent, CUT) if self._is_cut else silent

    def text(self, index: int) -> str:
        """Return the placeholder for what is said; "" if there is no sound."""
        return NOT_HEARD if self._sound is not None else ""

    def plain(self, index: int) -> str:
        return self.text(index)

    def perceived(self, parts: Sequence[Part], wanted: Wanted) -> Sequence[Part]:
        """Return the first few parts, with their sound and some frames."""
        parts = parts[: MOST_PARTS if wanted.pages or wanted.query else FIRST_PARTS]
        try:
            with_sound = [self._heard(part) for part in parts] if self._sound is not None else [*parts]
            frames = self._frames(parts, wanted) if self._film is not None and wanted.pictures else {}
        except (self._av.FFmpegError, ValueError) as error:
            raise Unreadable(DAMAGED) from error
        if self._is_cut and not frames and not any(part.sound for part in with_sound):
            raise Unreadable(DAMAGED)
        return [replace(part, pictures=tuple(frames.get(part.number, ()))) for part in with_sound]

    def _opened(self) -> Any:
        return self._av.open(BytesIO(self._data), format=self._form)

    def _length(self) -> float:
        """Return the length in seconds: the one that the file declares, else the end of its last packet."""
        if self._file.duration:
            return float(self._file.duration / _MICRO)
        stream = self._sound or self._film
        last = 0.0
        for packet in self._file.demux(stream) if stream is not None else ():
            if packet.pts is not None:
                last = max(last, float((packet.pts + (packet.duration or 0)) * packet.time_base))
        return last

    def _heard(self, part: Part) -> Part:
        """Return a part with its sound, if it has any."""
        begin = (part.number - 1) * PART_SECONDS
        made = BytesIO()
        with self._av.open(made, "w", format="mp3") as output:
            stream = output.add_stream("libmp3lame", rate=RATE, layout="mono", bit_rate=BITS)
            stream.codec_context.open()
            resampler = self._av.AudioResampler("s16p", "mono", RATE, frame_size=stream.codec_context.frame_size)
            samples = 0
            for frame in self._decoded(self._sound, begin):
                if (frame.time or 0.0) >= begin + PART_SECONDS:
                    break
                if (frame.time or 0.0) < begin:
                    continue
                frame.pts = None
                for piece in resampler.resample(frame):
                    samples += piece.samples
                    output.mux(stream.encode(piece))
            for piece in resampler.resample(None):
                samples += piece.samples
                output.mux(stream.encode(piece))
            output.mux(stream.encode(None))
        return replace(part, sound=made.getvalue(), seconds=samples / RATE) if samples else part

    def _decoded(self, stream: Any, begin: float, *, key_frames: bool = False) -> Iterator[Any]:
        """Yield the frames of a stream from the last key frame before `begin` seconds on, without damaged ones."""
        file = self._opened()  # a truncated file may lack what a seek back to its beginning needs
        if begin:
            file.seek(int(begin * _MICRO), backward=True)
        stream = file.streams[stream.index]
        stream.codec_context.skip_frame = "NONKEY" if key_frames else "DEFAULT"
        packets = file.demux(stream)
        while True:
            try:
                packet = next(packets, None)
            except self._av.FFmpegError:
                packet, self._is_cut = None, True
            if packet is None:
                return
            with suppress(self._av.InvalidDataError):
                yield from packet.decode()

    def _frames(self, parts: Sequence[Part], wanted: Wanted) -> dict[int, list[Picture]]:
        """Return frames of the video by the numbers of their parts."""
        found: dict[int, list[Picture]] = {}
        for part, moments in _moments(parts, self.seconds, self._rate(), wanted):
            found[part.number] = [*self._shown(moments)]
        return found

    def _rate(self) -> float:
        return float(self._film.average_rate or 25)

    def _shown(self, moments: Sequence[float]) -> Iterator[Picture]:
        """Yield a frame for each moment, in order."""
        apart = min((b - a for a, b in pairwise(moments)), default=float(LONGEST))
        if apart > EXACT_SECONDS:
            for moment in moments:
                yield from map(self._picture, islice(self._decoded(self._film, moment, key_frames=True), 1))
            return
        left, slack = deque(moments), 0.5 / self._rate()
        for frame in self._decoded(self._film, moments[0]):
            if (frame.time or 0.0) >= left[0] - slack:
                left.popleft()
                yield self._picture(frame)
            if not left:
                return

    def _picture(self, frame: Any) -> Picture:
        scale = min(1.0, SIDE / max(frame.width, frame.height, 1))
        small = frame.reformat(max(int(frame.width * scale), 2), max(int(frame.height * scale), 2), "rgb24")
        return Picture(f"at {clock(frame.time or 0.0)}", jpeg(small.to_image()))


def _moments(
    parts: Sequence[Part], seconds: float, rate: float, wanted: Wanted
) -> Iterator[tuple[Part, Sequence[float]]]:
    """Yield the times of the wanted frames in seconds, by part: at most `wanted.pictures` in all."""
    spans = [((p.number - 1) * PART_SECONDS, min(p.number * PART_SECONDS, seconds)) for p in parts]
    total = sum(end - begin for begin, end in spans)
    step = max(total / wanted.pictures, wanted.every / rate if wanted.every else 1.0)
    into = 0.0
    for part, (begin, end) in zip(parts, spans, strict=True):
        moments = list[float]()
        while begin + into < end:
            moments.append(begin + into)
            into += step
        into -= end - begin
        if moments:
            yield part, moments


def clock(seconds: float) -> str:
    """Return a time as a player shows it: 1:05, 1:00:05."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _is_cover(stream: Any) -> bool:
    """Return whether a video stream is only a cover picture."""
    return bool(stream.disposition & stream.disposition.__class__.attached_pic)

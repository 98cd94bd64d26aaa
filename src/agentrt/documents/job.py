"""`Job`: the worker's input; `answered`: its answer."""

from __future__ import annotations

import sys
import sysconfig

import msgspec

from .confinement import limit, refuse
from .document import Document, Missing, Refused, Reply, Unreadable, Wanted
from .reading import read

MIB = 1 << 20


class Job(msgspec.Struct, frozen=True):
    """A document's name and media type, the parts that are wanted, and the limits: bytes of memory, seconds.

    `paths` are the directories of the libraries, from `sys.path`.
    """

    name: str
    wanted: Wanted = Wanted()
    media_type: str = ""
    memory: int = 1024 * MIB
    seconds: int = 30
    paths: tuple[str, ...] = ()


def decoded(text: str) -> Job:
    """Return a job from its JSON."""
    return msgspec.json.decode(text, type=Job)


def encoded(reply: Reply) -> bytes:
    """Return an answer as JSON. Characters that are not valid Unicode become question marks."""
    try:
        return msgspec.json.encode(reply)
    except (UnicodeError, ValueError):
        return msgspec.json.encode(_sound(reply))


def reply_of(data: bytes) -> Reply:
    """Return an answer from its JSON. Raises `msgspec.DecodeError`."""
    return msgspec.json.decode(data, type=Document | Refused | Missing)


def _sound(reply: Reply) -> Reply:
    def fixed(value: object) -> object:
        if isinstance(value, str):
            return value.encode("utf-8", "replace").decode()
        if isinstance(value, dict):
            return {key: fixed(each) for key, each in value.items()}
        return [fixed(each) for each in value] if isinstance(value, (list, tuple)) else value

    return msgspec.convert(fixed(msgspec.to_builtins(reply)), type=Document | Refused | Missing)


def answered(job: Job, data: bytes, package: str) -> Reply:
    """Return the answer to a job, within its limits. Limits and confines this process for good."""
    sys.path.extend(path for path in job.paths if path not in sys.path)
    limit(job.memory, job.seconds)
    known = sysconfig.get_paths()
    readable = (*sys.path, package, *(known[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))
    sys.addaudithook(refuse(readable))
    too_much = Refused(f"needs more than {job.memory // MIB:,} MiB of memory to be read: refused")
    try:
        return read(data, job.name, job.wanted, job.media_type)
    except Unreadable as error:
        return Refused(str(error))
    except ImportError as error:
        return Missing(error.name or "a library", str(error))
    except MemoryError:
        return too_much
    except RecursionError:
        return Refused("nests too deep to be read: refused")
    except PermissionError as error:
        return Refused(f"asks for what is refused ({error})")
    except Exception as error:  # libraries may raise anything for an untrusted file
        return Refused(f"is damaged or cut off, or of a kind that is not understood ({type(error).__name__})")

"""`KeyFile`: a file with a user's key, and `StoreKey`: the key with which a runtime encrypts what its store keeps."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile

import anyio.to_thread

from ..errors import ConfigurationError
from .cipher import Cipher

PLACE = Path(".config", "agentrt", "secrets.key")
"""Path below the home directory, outside of every store."""


class KeyFile:
    """A file that contains a key, with older keys after it; for a thread. Raises `ConfigurationError`."""

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self.path, self._private = path, private

    @staticmethod
    def of(home: Path) -> KeyFile:
        """Return the key file of the user with this home directory."""
        return KeyFile(home / PLACE, private=True)

    @staticmethod
    def paths(home: Path | None) -> tuple[str, ...]:
        """Return the path of a user's key file, which no agent should touch; none without a home directory."""
        return () if home is None else (str(home / PLACE),)

    def read(self) -> Cipher | None:
        """Return the cipher of its keys; None if the file does not exist."""
        try:
            if self._private and stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                raise ConfigurationError(f"others can read {self.path}: chmod 600 it, or make another key")
            keys = self.path.read_text().split()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{self.path} cannot be read as a key: {error}") from error
        if not keys:
            raise ConfigurationError(f"{self.path} has no key in it: make one with Cipher.new_key()")
        return Cipher(*keys)

    def make(self) -> Cipher:
        """Return the cipher of its keys; a missing file is made, for its owner alone."""
        if (found := self.read()) is not None:
            return found
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with NamedTemporaryFile("w", dir=self.path.parent) as new:  # others cannot read it
                new.write(f"{Cipher.new_key()}\n")
                new.flush()
                os.fsync(new.fileno())
                os.link(new.name, self.path)
        except FileExistsError:  # another process was first
            pass
        except OSError as error:
            raise ConfigurationError(f"{self.path} cannot be made: {error}") from error
        made = self.read()
        assert made is not None
        return made


class StoreKey:
    """The key with which a runtime encrypts what its store keeps: the given one, else that of the user's key file.

    Its async methods raise `ConfigurationError` for a file that cannot be read or made.
    """

    def __init__(self, given: Cipher | None, home: Path | None) -> None:
        self._cipher, self._file = given, KeyFile.of(home) if home is not None else None

    def spellings(self) -> tuple[str, ...]:
        """Return the key as text, once it is known."""
        return self._cipher.spellings() if self._cipher is not None else ()

    async def there(self) -> Cipher | None:
        """Return the cipher, None if there is none."""
        if self._cipher is None and self._file is not None:
            self._cipher = await anyio.to_thread.run_sync(self._file.read)
        return self._cipher

    async def made(self) -> Cipher:
        """Return the cipher, and make its key if there is none. Raises `ConfigurationError` if it has no place."""
        if self._cipher is None:
            if self._file is None:
                raise ConfigurationError("what is kept here is encrypted: give a key, Runtime(cipher=Cipher(...))")
            self._cipher = await anyio.to_thread.run_sync(self._file.make)
        return self._cipher

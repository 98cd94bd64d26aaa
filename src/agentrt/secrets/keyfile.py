"""`KeyFile`: a file with a user's key, for what a store encrypts even if the program gives it no key."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile

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

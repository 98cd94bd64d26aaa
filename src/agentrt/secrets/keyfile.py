"""`KeyFile`: the key of a user for what a store keeps encrypted without being told a key."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile

from ..errors import ConfigurationError
from .cipher import Cipher

PLACE = Path(".config", "agentrt", "secrets.key")
"""Below the home directory, and so outside of every store."""


class KeyFile:
    """A file that holds a key, with older ones behind it; for a thread. Raises `ConfigurationError`."""

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self.path, self._private = path, private

    @staticmethod
    def of(home: Path) -> KeyFile:
        """That of the user of a home directory."""
        return KeyFile(home / PLACE, private=True)

    @staticmethod
    def paths(home: Path | None) -> tuple[str, ...]:
        """Where that of a user is, if there is one: no agent should touch it."""
        return () if home is None else (str(home / PLACE),)

    def read(self) -> Cipher | None:
        """The cipher of its keys; None without a file."""
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
        """The cipher of its keys; the file is made where there is none, for its owner alone."""
        if (found := self.read()) is not None:
            return found
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with NamedTemporaryFile("w", dir=self.path.parent) as new:  # which others cannot read
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

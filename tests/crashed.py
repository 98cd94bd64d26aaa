"""What a crash leaves of a store whose process still runs: its conversations, copied as they are at this moment."""

from __future__ import annotations

import shutil
from pathlib import Path


def crashed(store: Path, copy: Path) -> Path:
    """`copy`, a store with the conversations of `store`; what is kept beside them is made anew from them.

    Files that are being written under another name (`.NAME.xxx`) may be gone before they are copied, and stay out.
    """
    shutil.copytree(store / "conversations", copy / "conversations", ignore=shutil.ignore_patterns(".*"))
    return copy

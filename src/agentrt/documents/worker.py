"""The program that reads one document: its bytes on standard input, a `Job` as JSON in its argument, a `Reply` as JSON
on standard output.

It imports only the readers from the package: importing the rest would take longer than reading most documents.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .job import Job


def main() -> int:
    """Read one document."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    bare = ModuleType("agentrt")
    bare.__path__ = [package]
    sys.modules["agentrt"] = bare  # the real `__init__` imports the whole package
    from agentrt.documents.job import answered, decoded, encoded

    job: Job = decoded(sys.argv[1])
    output = os.dup(1)
    os.dup2(2, 1)  # keeps what a library prints out of the answer
    reply = encoded(answered(job, sys.stdin.buffer.read(), package))
    with open(output, "wb") as file:
        file.write(reply)
    return 0


if __name__ == "__main__":
    os._exit(main())  # a library might hang at exit

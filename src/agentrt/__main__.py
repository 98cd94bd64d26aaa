"""`python -m agentrt`."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # this directory, often a workspace: a library that is loaded later would be imported from it

from .cli.entry import main

main()

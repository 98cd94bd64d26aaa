"""`python -m agentrt`."""

from .cli import main

main()

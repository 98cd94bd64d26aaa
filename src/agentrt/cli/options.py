"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Where conversations are kept. Default: $AGENTRT_HOME, else ~/.agentrt.",
)

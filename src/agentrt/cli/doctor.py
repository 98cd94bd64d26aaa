"""`agentrt doctor`: says what this machine can hold of what agents do."""

from __future__ import annotations

import click

from ..sandboxes.fence import fence_is_missing, not_held
from ..sandboxes.holding import way, whats_missing


@click.command()
def doctor() -> None:
    """Try on this machine what agents need, and say what is missing.

    It confines a program as is done for each conversation on this machine. The exit code is 1 if nothing can.
    """
    if not (missing := whats_missing()):
        click.echo(f"commands are confined here: a box was made (by {way()}), and a program ran in it.")
        return
    if not (less := fence_is_missing()):
        click.echo("commands are partly confined here, by Landlock. It does not hold:")
        for one in not_held():
            click.echo(f"- {one}")
        click.echo(f"A box would hold that, too. It cannot be made: {missing}")
        click.echo("--confine require refuses to run any until it can.")
        return
    click.echo(f"nothing can confine commands here: {missing}; with Landlock: {less}")
    click.echo(
        "Until something can, a person is asked about each command that does more than read; where nobody is asked, it"
        " does not run. --confine off lets all run unconfined."
    )
    raise SystemExit(1)

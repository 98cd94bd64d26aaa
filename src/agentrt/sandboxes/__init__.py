"""Where tools run commands: shells on this machine or in a container, and their processes."""

"""Where tools work: a shell on this machine, and its processes."""

"""The command line. `entry.main` runs it."""

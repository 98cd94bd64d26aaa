"""Workspaces over HTTP: their files, archives of them, and what git says; nothing outside of them is reached."""

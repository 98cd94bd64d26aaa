"""Tools for files."""

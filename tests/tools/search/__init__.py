"""Search in files."""

"""Tests."""  # noqa: A005

"""Guarded requests."""

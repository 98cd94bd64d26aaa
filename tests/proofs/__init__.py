"""Fault proofs: what holds when the process, the disk or the person cuts in."""

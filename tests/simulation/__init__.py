"""Whole runtimes in one process and in virtual time: what happens to them is drawn from a seed."""

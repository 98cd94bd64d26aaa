"""Tests of `agentrt chat`."""

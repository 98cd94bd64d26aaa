"""Tests of agentrt.replaying."""

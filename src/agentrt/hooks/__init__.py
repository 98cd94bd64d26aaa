"""Hooks: functions, commands, prompts and agents that run before and after what an agent does."""

from .results import HookFunction, HookInput, HookResult, combined
from .running import run_hook, run_hooks

__all__ = ["HookFunction", "HookInput", "HookResult", "combined", "run_hook", "run_hooks"]

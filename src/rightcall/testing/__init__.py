"""Kits for testing what you build on rightcall. Public, documented, and used by its own tests."""

from rightcall.gate.attempt import raise_tool_errors
from rightcall.testing.scripted_model import Break, ScriptedModel, Turn, call, reply

__all__ = ["Break", "ScriptedModel", "Turn", "call", "raise_tool_errors", "reply"]

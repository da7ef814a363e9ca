"""Kits for testing what you build on toolwright. Public, documented, and used by its own tests."""

from toolwright.testing.scripted import Break, ScriptedModel, Turn, call, reply

__all__ = ["Break", "ScriptedModel", "Turn", "call", "reply"]

"""Tools that ship with toolwright."""

from toolwright.builtin.human import human

__all__ = ["human"]

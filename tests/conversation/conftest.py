"""What tests of conversations share."""

from agent.conftest import nothing_is_left

__all__ = ["nothing_is_left"]

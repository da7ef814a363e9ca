from loop.quiet import nothing_is_left

__all__ = ["nothing_is_left"]

"""OpenAI's ``apply_patch`` for the files under a granted directory."""

from rightcall.builtin.patch.tool import apply_patch

__all__ = ["apply_patch"]

"""Marks untrusted tool descriptions for the model, and removes the marks again."""

from msgspec.structs import replace

from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.tool import Spec


def quoted(server: str, words: str) -> str:
    """An MCP server's description of a tool, marked with its source."""
    return f"{_mark(server)}{dump(words)}"


def in_own_words(spec: Spec) -> Spec:
    """The definition as its author wrote it: without our marks, and without our one-line summary."""
    mark = _mark(spec.origin)
    if not spec.origin or not spec.description.startswith(mark):
        return spec
    try:
        words = parse(spec.description.removeprefix(mark))
    except JsonError:
        return spec
    return replace(spec, description=words, short="") if isinstance(words, str) else spec


def _mark(server: str) -> str:
    return f"A tool of the MCP server {server}, in that server's own, untrusted words: "

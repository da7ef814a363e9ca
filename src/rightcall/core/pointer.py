"""JSON documents, looked into: every object in one, and what a pointer into it points at."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


def nodes(document: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a document, the outermost first."""
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            yield node
            waiting += node.values()
        elif isinstance(node, list | tuple):
            waiting += node


def at(document: Any, pointer: str) -> Any:
    """What a pointer in a URI's fragment (``#/$defs/a``) points at; None for nothing that is there."""
    node = document
    for step in _unescaped(pointer.removeprefix("#")).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, list | tuple) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), text.encode()).decode(errors="replace")

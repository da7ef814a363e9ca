"""The references inside one schema document: what they point at, and which come back to themselves."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolwright.core.jsontext import JsonObject


class References:
    """The references of one document. Nothing outside of it is ever looked up."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._anchors = {
            f"#{node['$anchor']}": node
            for node in _nodes(document)
            if isinstance(node.get("$anchor"), str)
        }
        self._names: dict[str, str] = {}

    def target(self, reference: str) -> Any:
        """What a reference points at; None for one that points nowhere in this document."""
        if reference in self._anchors:
            return self._anchors[reference]
        if not reference.startswith("#"):
            own = self._document.get("$id")
            if not (isinstance(own, str) and own and reference.startswith(own + "#")):
                return None
            reference = reference.removeprefix(own)
        node: Any = self._document
        for step in _unescaped(reference[1:]).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and key in node:
                node = node[key]
            elif isinstance(node, list | tuple) and key.isdigit() and int(key) < len(node):
                node = node[int(key)]
            else:
                return None
        return node

    def is_recursive(self, reference: str) -> bool:
        """Whether what it points at leads back to it."""
        seen: set[str] = set()
        waiting = [reference]
        while waiting:
            for found in _references(self.target(waiting.pop())):
                if found == reference or self.target(found) is self.target(reference):
                    return True
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
        return False

    def name(self, reference: str) -> str:
        """A name for a definition, the same for the same reference and for no other."""
        if reference not in self._names:
            wanted = reference.rpartition("/")[2].strip("#") or "root"
            taken = set(self._names.values())
            name, number = wanted, 2
            while name in taken:
                name, number = f"{wanted}_{number}", number + 1
            self._names[reference] = name
        return self._names[reference]


_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


def _unescaped(text: str) -> str:
    """The text of a URI's fragment."""
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), text.encode()).decode(errors="replace")


def _references(node: Any) -> list[str]:
    return [found["$ref"] for found in _nodes(node) if isinstance(found.get("$ref"), str)]


def _nodes(root: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a document."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            yield node
            waiting += node.values()
        elif isinstance(node, list | tuple):
            waiting += node

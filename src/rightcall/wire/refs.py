"""The references inside one schema document: what they point at, and which come back to themselves."""

from typing import Any

from rightcall.core.jsontext import JsonObject
from rightcall.core.pointer import at, nodes


class References:
    """The references of one document. Nothing outside of it is ever looked up."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._anchors = {
            f"#{node['$anchor']}": node
            for node in nodes(document)
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
        return at(self._document, reference)

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


def _references(node: Any) -> list[str]:
    return [found["$ref"] for found in nodes(node) if isinstance(found.get("$ref"), str)]

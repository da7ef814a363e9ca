"""Finds what the references of a JSON Schema refer to. Nothing is ever fetched.

Most schemas refer only to their own definitions (``#/$defs/name``): ``local_target`` and ``follow`` are
for those. A ``ReferenceResolver`` also knows ``$id``, anchors and the documents beside a schema.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias
from urllib.parse import urljoin

from rightcall.core.jsontext import JsonObject, at, nodes

SchemaNode: TypeAlias = Mapping[str, Any]
"""A schema that is an object, at any place of a document."""


def local_target(document: Any, reference: object) -> Any:
    """Returns what a reference within a document refers to, or None.

    The reference is a JSON pointer (``#/$defs/a``), the whole (``#``) or an anchor (``#a``). One to
    another document, or to nothing, has no target.
    """
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    if reference == "#" or reference.startswith("#/"):
        return at(document, reference)
    for node in nodes(document):
        if node.get("$anchor") == reference[1:]:
            return node
    return None


def follow(document: Any, schema: Any) -> Any:
    """Returns the schema that a schema's ``$ref`` leads to, over any number of steps, or itself.

    None if a reference on the way has no target in the document, or leads in a circle.
    """
    passed = set()
    while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
        if reference in passed:
            return None
        passed.add(reference)
        schema = local_target(document, reference)
    return schema


def definition_at_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a schema whose root is an object of its own, and not only a reference to a definition.

    Generators write the latter for a type that contains itself.
    """
    if "$ref" not in schema:
        return schema
    definitions = schema["$defs"]
    return {**local_target(schema, schema["$ref"]), "$defs": definitions}


class ReferenceResolver:
    """Resolves the references in a document and in its ``resources``, which are documents by URI.

    A reference is relative to the nearest ``$id`` around it (JSON Schema Core 2020-12, section 8.2).
    """

    def __init__(self, document: JsonObject, resources: Mapping[str, JsonObject]) -> None:
        self._homes: dict[int, tuple[SchemaNode, str]] = {}
        """By the id of each object in a document: the resource that it is in, and its address."""
        self._targets: dict[str, SchemaNode] = {}
        """By address: each resource, and each anchor in one."""
        for uri, resource in resources.items():
            self._targets[uri] = resource
            self._index(resource, resource, uri)
        self._index(document, document, "")

    def _index(self, node: Any, home: SchemaNode, base: str) -> None:
        if isinstance(node, list | tuple):
            for child in node:
                self._index(child, home, base)
        if not isinstance(node, Mapping):
            return
        if isinstance(own := node.get("$id"), str):
            base = urljoin(base, own)
            home = node
            self._targets[base.removesuffix("#")] = node
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := node.get(key), str):
                self._targets[f"{base.partition('#')[0]}#{name}"] = node
        self._homes[id(node)] = home, base
        for child in node.values():
            self._index(child, home, base)

    def target(self, node: SchemaNode, reference: str) -> Any:
        """Returns what a reference in ``node``, an object of the documents, refers to, or None."""
        home, base = self._homes[id(node)]
        resource, _, fragment = reference.partition("#")
        if resource:
            address = self._address(base, resource)
            start = self._targets.get(address)
        else:
            address = base.partition("#")[0]
            start = home
        if fragment and f"{address}#{fragment}" in self._targets:
            return self._targets[f"{address}#{fragment}"]
        if fragment and not fragment.startswith("/"):
            return None
        return at(start, fragment)

    def _address(self, base: str, resource: str) -> str:
        """Returns the address of a document that another refers to; not all schemes can be joined."""
        joined = urljoin(base, resource)
        if joined in self._targets:
            return joined
        for address in self._targets:
            if address.endswith((f"/{resource}", f":{resource}")):
                return address
        return resource

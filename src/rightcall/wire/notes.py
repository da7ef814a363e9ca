"""What a schema lost on its way into a vendor's language: noted, said in words, or refused."""

from collections.abc import Iterable
from typing import Any

from rightcall.core.jsontext import JsonObject
from rightcall.errors import EncodeError
from rightcall.wire.keywords import SILENT, is_null, only, say, sentence, without
from rightcall.wire.merge import ANNOTATIONS
from rightcall.wire.rules import Rules


class Notes:
    """What happened to one schema."""

    def __init__(self, rules: Rules, tool: str) -> None:
        self.dropped: list[str] = []
        self.nulled: list[str] = []
        self.is_exact = True
        self._rules = rules
        self._tool = tool

    def refuse(self, path: str, reason: str) -> EncodeError:
        """What to raise where the rules cannot be met."""
        where = f"tool {self._tool!r} at {path}" if self._tool else path
        return EncodeError(self._rules.dialect, reason, where=where)

    def drop(self, keywords: Iterable[str], node: JsonObject, path: str, words: list[str]) -> None:
        """Say in words what these keywords say."""
        for keyword in keywords:
            if keyword in SILENT or keyword in self._rules.keywords & {"title"}:
                continue
            self.note(path, keyword, is_exact=keyword in ANNOTATIONS)
            words.append(f"{keyword}: {say(node[keyword])}")

    def note(self, path: str, keyword: str, *, is_exact: bool) -> None:
        """Remember that a keyword was left out, and whether the schema still admits only what it did."""
        self.dropped.append(f"{path}: {keyword}")
        self.is_exact = self.is_exact and is_exact

    def or_null(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        """The schema of an optional member that must be there all the same."""
        kind = schema.get("type")
        kinds = [kind] if isinstance(kind, str) else list(kind or ())
        if "null" in kinds or any(is_null(branch) for branch in schema.get("anyOf", ())):
            return schema
        self.nulled.append(path)
        words = only(schema, "description")
        if "anyOf" in schema:
            return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
        if "$ref" in schema or "const" in schema or self._rules.type_lists != "keep":
            bare = without(schema, "description")
            return {"anyOf": [bare, {"type": "null"}], **words}
        values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
        return {**schema, "type": [*kinds, "null"], **values}


def described(result: dict[str, Any], node: JsonObject, words: list[str]) -> dict[str, Any]:
    """A rewritten schema with the words of the old one, and what else is to be said."""
    text = sentence(node.get("description"), words)
    rest = {key: value for key, value in result.items() if key != "description"}
    return {**rest, "description": text} if text else rest

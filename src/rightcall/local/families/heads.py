"""The inside of an opening tag into a name and attributes."""

# ruff: noqa: RUF001 - the markers are written as the models write them

import re
from collections.abc import Mapping

from msgspec import Struct

_QUOTED = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)')""")
_ATTRIBUTE = re.compile(r"""\s+([\w:-]+)\s*=\s*["']?([^"'\s]*)["']?""")
_ATTRIBUTES = re.compile(rf"(?:{_ATTRIBUTE.pattern})*\s*/?\s*")
_NAME = re.compile(r"[^\s<>{}()\[\]\"'=,;|｜]+")


class Head(Struct, frozen=True, gc=False):
    """What an opening tag says."""

    name: str
    attributes: Mapping[str, str]
    is_quoted: bool = False

    @property
    def is_valid(self) -> bool:
        """Whether it names something, as opposed to some sentence. In quotes, any name is one."""
        return bool(self.name.strip()) if self.is_quoted else is_name(self.name)


def head(text: str) -> Head:
    """What stands first, without its quotes, and the attributes after it. Without quotes it is all."""
    match = _QUOTED.match(text)
    if match is None or not _ATTRIBUTES.fullmatch(text, match.end()):
        return Head(text.strip(), {})
    attributes = dict(_ATTRIBUTE.findall(text, match.end()))
    return Head(match[1] if match[1] is not None else match[2], attributes, is_quoted=True)


def is_name(text: str) -> bool:
    """Whether this can be the name of a tool, as opposed to some sentence."""
    return _NAME.fullmatch(text) is not None

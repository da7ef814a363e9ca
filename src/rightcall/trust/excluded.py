"""Finds, in a trusted result, how to reach people whom the user left out by name.

"Everybody except Bob" names no address. Which one is Bob's stands in a record, beside his name.
"""

from collections.abc import Collection, Iterator

import msgspec

from rightcall.core.jsontext import JsonValue, nodes
from rightcall.trust.pieces import opened
from rightcall.trust.words.keys import looks_like
from rightcall.trust.words.kinds import is_contact, kind_of_name, words_of
from rightcall.trust.words.plain import plain
from rightcall.trust.words.spelling import tokens

_NAMES = frozenset({"name", "person", "user", "username", "member", "employee", "contact", "nick"})
_MOST_WORDS = 5
"""Words in a person's name, at most."""


def excluded_in(text: str, people: Collection[frozenset[str]]) -> Iterator[tuple[frozenset[str], str]]:
    """How to reach those whose names contain one of some names: each value, with that name."""
    try:
        value: JsonValue = msgspec.json.decode(opened(text))
    except (msgspec.DecodeError, RecursionError):
        return
    for node in nodes(value):
        fields = {key: str(each) for key, each in node.items() if isinstance(each, str | int)}
        named = [key for key, each in fields.items() if _is_name(key, each)]
        reached = [key for key, each in fields.items() if key not in named and _reaches(key, each)]
        words = {token for key in named for token in tokens(fields[key])} if reached else set()
        for who in [each for each in people if each <= words]:
            yield from ((who, fields[key]) for key in (*named, *reached))


def _is_name(key: str, text: str) -> bool:
    is_person = not _NAMES.isdisjoint(words_of(key)[-1:])
    return is_person and len(text.split()) <= _MOST_WORDS and looks_like(plain(text)) is None


def _reaches(key: str, text: str) -> bool:
    is_whom = kind_of_name(key) in ("address", "account") or is_contact(key)
    return is_whom or looks_like(plain(text)) in ("address", "account")

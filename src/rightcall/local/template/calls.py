"""Calls and results into the members that chat templates know: ids, names, arguments."""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.result import Result

RAW_ARGUMENTS = "raw_arguments"
"""Arguments that are not a JSON object are shown as text under this key: a template that walks through
them, or that a model learns from, must see an object."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LEGAL = {"any": re.compile(r"[A-Za-z0-9_.:/-]{1,64}"), "nine": re.compile(r"[A-Za-z0-9]{9}")}
"""What an id may be as it is. Others are the model's own text, and may hold anything."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_NAME = 64


class CallIds:
    """The ids of one transcript, in its order: each used once, however often a model repeats it.

    Only what came before decides, so that a longer history gives the same ids to its beginning.
    """

    def __init__(self, kind: Literal["any", "nine"]) -> None:
        self._kind = kind
        self._used: set[str] = set()
        self._waiting: list[tuple[str, str]] = []

    def of_calls(self, calls: Sequence[Call]) -> list[str]:
        """An id for each call."""
        self._waiting = [(call.id, self._new(call.id)) for call in calls]
        return [legal for _, legal in self._waiting]

    def of_result(self, result: Result) -> str:
        """The id of the call that this answers: by id, and by order where ids are the same."""
        for at, (given, legal) in enumerate(self._waiting):
            if given == result.call_id:
                del self._waiting[at]
                return legal
        return self._new(result.call_id)

    def _new(self, given: str) -> str:
        candidate, tries = given, 0
        while not _LEGAL[self._kind].fullmatch(candidate) or candidate in self._used:
            candidate = self._make(given, tries)
            tries += 1
        self._used.add(candidate)
        return candidate

    def _make(self, given: str, tries: int) -> str:
        digest = sha256(f"{given}\n{tries}".encode(errors="surrogatepass")).digest()
        if self._kind == "any":
            return f"call_{digest.hex()[:24]}"
        number = int.from_bytes(digest)
        return "".join(_DIGITS[number // 62**place % 62] for place in range(9))


def name_of(name: str) -> str:
    """A tool's name as it can be shown; what a model made up may be anything."""
    return _ILLEGAL.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def call_fields(
    call: Call, identity: str, *, as_text: bool, clean: Callable[[str], str]
) -> dict[str, Any]:
    """A call as a member of ``tool_calls``. Never raises, whatever the model wrote."""
    text = clean(call.arguments).strip()
    value = _arguments(text)
    if not as_text:
        # An escape in the text may have hidden what is one no longer.
        arguments: Any = cleaned(value, clean)
    else:
        arguments = text if text and RAW_ARGUMENTS not in value else dump(value)
    function = {"name": name_of(call.name), "arguments": arguments}
    return {"id": identity, "type": "function", "function": function}


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """The same JSON, all of its text cleaned."""
    match value:
        case str():
            return clean(value)
        case Mapping():
            return {clean(key): cleaned(each, clean) for key, each in value.items()}
        case list() | tuple():
            return [cleaned(each, clean) for each in value]
        case _:
            return value


def _arguments(text: str) -> Mapping[str, Any]:
    if not text:
        return {}
    try:
        value = parse(text)
    except JsonError:
        return {RAW_ARGUMENTS: text}
    return value if isinstance(value, Mapping) else {RAW_ARGUMENTS: text}

"""What a run writes once outsiders have spoken, so that it does not come back as a system's word."""

from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue, leaves
from rightcall.core.parts import Result
from rightcall.trust.facts import Settled
from rightcall.trust.keys import keys
from rightcall.trust.provenance import opened
from rightcall.trust.traces import IsWritten, came_back, is_of_token, is_opaque, tokens_back, traces_of

EARLIER = " (written there before)"
"""Said of the tool through which something came back."""


class Echo(Struct, frozen=True, kw_only=True):
    """What a call was given that nobody vouched for, and its result may merely repeat."""

    texts: tuple[str, ...] = ()
    targets: frozenset[str] = frozenset()
    """Those of the texts that say who or where."""
    keys: frozenset[int] = frozenset()
    """What they could make somebody vouch for."""
    traces: frozenset[str] = frozenset()
    """What is left of their addresses and numbers in whatever spelling."""
    is_opaque: bool = False
    """One of them leads somewhere or is in some code, so that the whole result may be made of it."""

    def keys_in(self, text: str) -> frozenset[int]:
        """What a text of the result could make somebody vouch for, and may merely repeat."""
        if not self.traces:
            return self.keys
        again = tokens_back(text, self.traces.__contains__)
        return self.keys.union(key for token in again for key in keys(token))


NO_ECHO = Echo()


def echo_of(texts: Sequence[str], targets: Collection[str], is_known: IsWritten) -> Echo:
    """The echo that these texts of a call may have."""
    if not texts:
        return NO_ECHO
    left = traces_of(texts, (), is_known)
    return Echo(
        texts=tuple(texts),
        targets=frozenset(targets),
        keys=frozenset(key for text in texts for key in keys(text)),
        traces=frozenset(each for each in left if is_of_token(each)),
        is_opaque=any(map(is_opaque, texts)),
    )


class Written:
    """What was written so far. ``above``: by the run that this one is part of, too."""

    def __init__(self, above: "Written | None" = None) -> None:
        self._traces: set[str] = set() if above is None else above._traces  # noqa: SLF001
        self._last: list[str] = [] if above is None else above._last  # noqa: SLF001
        """What was written last: a half may wait for the other."""

    def traces(
        self, texts: Sequence[str], targets: Collection[str], is_known: IsWritten
    ) -> frozenset[str]:
        """What these texts would leave behind, written now."""
        return traces_of((*self._last, *texts), targets, is_known) if texts else frozenset()

    def add(self, texts: Sequence[str], targets: Collection[str], is_known: IsWritten) -> None:
        """Take in texts that were written."""
        self._traces |= self.traces(texts, targets, is_known)
        self._last[:] = texts[-1:]

    def back_in(self, result: Result) -> frozenset[str]:
        """The texts of a result that were written before, in this run or, as it says, in another."""
        if not self._traces:
            return frozenset(result.planted)
        return came_back(content_of(result), self._traces.__contains__).union(result.planted)


def relabelled(result: Result, facts: Settled) -> Result:
    """A result of an earlier run; one that may have lost its labels on the way is an outsider's."""
    fields = facts.untrusted
    if result.source is not None or result.own:
        return result
    found = content_of(result)
    if isinstance(found, dict) and "untrusted_source" in found:
        return replace(result, source=result.name)
    if not isinstance(fields, tuple):
        return result
    names = {field.rpartition(".")[2] for field in fields}
    is_clean = isinstance(found, dict | list) and not any(
        names.intersection(place) for place, _ in leaves(found)
    )
    return result if is_clean else replace(result, source=result.name)


def content_of(result: Result) -> JsonValue:
    """What a result holds, as a value where it is one."""
    text = opened(result.text) if result.source is not None else result.text
    if text[:1] not in ("{", "["):
        return text
    try:
        found: JsonValue = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return found

"""Remembers what a tainted run writes, so that it does not come back as a trusted result."""

from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue, leaves
from rightcall.core.parts import Result
from rightcall.trust.facts import Settled
from rightcall.trust.provenance import opened
from rightcall.trust.traces import IsWritten, came_back, is_of_token, is_opaque, tokens_back, traces_of
from rightcall.trust.words.keys import keys

EARLIER = " (written there before)"
"""Added to the name of the tool through which written text came back."""


class Echo(Struct, frozen=True, kw_only=True):
    """The arguments of a call that nobody vouched for, and that its result may merely repeat."""

    texts: tuple[str, ...] = ()
    targets: frozenset[str] = frozenset()
    """Those of the texts that are targets."""
    keys: frozenset[int] = frozenset()
    """The keys of the texts: what they would vouch for if they were trusted."""
    traces: frozenset[str] = frozenset()
    """The traces of their addresses and numbers, in any spelling."""
    is_opaque: bool = False
    """Whether one of the texts is a link or encoded, so that the whole result may be made of it."""

    def keys_in(self, text: str) -> frozenset[int]:
        """The keys in a text of the result that may merely repeat the call."""
        if not self.traces:
            return self.keys
        again = tokens_back(text, self.traces.__contains__)
        return self.keys.union(key for token in again for key in keys(token))


NO_ECHO = Echo()


def echo_of(texts: Sequence[str], targets: Collection[str], is_known: IsWritten) -> Echo:
    """The echo that these texts of a call may have in its result."""
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
    """What was written so far, by this run and its outer run (``above``)."""

    def __init__(self, above: "Written | None" = None) -> None:
        self._traces: set[str] = set() if above is None else above._traces  # noqa: SLF001
        self._last: list[str] = [] if above is None else above._last  # noqa: SLF001
        """The text that was written last: the next may be its other half."""

    def traces(
        self, texts: Sequence[str], targets: Collection[str], is_known: IsWritten
    ) -> frozenset[str]:
        """The traces that these texts would leave if they were written now."""
        return traces_of((*self._last, *texts), targets, is_known) if texts else frozenset()

    def add(self, texts: Sequence[str], targets: Collection[str], is_known: IsWritten) -> None:
        """Add texts that were written."""
        self._traces |= self.traces(texts, targets, is_known)
        self._last[:] = texts[-1:]

    def back_in(self, result: Result) -> frozenset[str]:
        """The texts of a result that were written before: in this run, or in another (``planted``)."""
        if not self._traces:
            return frozenset(result.planted)
        return came_back(content_of(result), self._traces.__contains__).union(result.planted)


def relabelled(result: Result, facts: Settled) -> Result:
    """A result of an earlier run; if it may have lost its labels, it is untrusted."""
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
    """The content of a result, parsed if it is JSON."""
    text = opened(result.text) if result.source is not None else result.text
    if text[:1] not in ("{", "["):
        return text
    try:
        found: JsonValue = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return found

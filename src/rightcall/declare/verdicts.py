"""How many tools and tokens are too many, and what to do about it."""

from typing import Literal, TypeAlias, TypedDict

from msgspec import Struct

from rightcall.core.options import Known, annotations_of
from rightcall.errors import UsageError

Level: TypeAlias = Literal["fine", "note", "warning", "over"]
LEVELS: tuple[Level, ...] = ("fine", "note", "warning", "over")
"""From the best to the worst."""
Then: TypeAlias = Literal["warn", "refuse", "off"]
"""What an agent does if its tools exceed the thresholds: log a warning, raise an error, or nothing."""


class Thresholds(TypedDict, total=False):
    """From where on tools are too many."""

    tools: tuple[int, int, int]
    """More than so many tools are worth a note, a warning, and too many: 5, 15 and 20."""
    share: tuple[float, float]
    """More than this share of the context is worth a warning, and too much: 0.05 and 0.10."""
    then: Then
    """What an agent does about too many or too much; warns, unless said."""


DEFAULTS: Thresholds = {}
_KNOWN = Known("footprint", annotations_of(Thresholds))
_TOOLS, _SHARE = (5, 15, 20), (0.05, 0.10)

_OF_TOOLS = {
    "fine": "a choice among so few is easy",
    "note": "keep descriptions tight, and say in each when to use it and when not",
    "warning": "split them: by MCP server, or into agents that have a few each",
    "over": "defer them, and let the model search: rc.Agent(…, defer=True)",
}
_OF_SHARE = {
    "fine": "little is sent with every turn",
    "note": "little is sent with every turn",
    "warning": 'tighten descriptions, send short ones (descriptions="short"), let the vendor cache them',
    "over": 'defer them (defer=True), or send one line of each (descriptions="lines")',
}


class Verdict(Struct, frozen=True):
    """The verdict on a number of tools, or on their tokens."""

    level: Level
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.level}: {self.what}: {self.advice}"


def checked_thresholds(given: Thresholds | Then) -> Thresholds:
    """The thresholds, validated. Raises an error that says what is wrong with them."""
    thresholds: Thresholds = {"then": given} if isinstance(given, str) else given
    _KNOWN.check(thresholds)
    for name, values, known in (
        ("tools", thresholds.get("tools", _TOOLS), _TOOLS),
        ("share", thresholds.get("share", _SHARE), _SHARE),
    ):
        if len(values) != len(known) or not all(map(_is_number, values)):
            raise UsageError(f"footprint: {name} are {len(known)} numbers, as {known}, not {values}")
        if list(values) != sorted(values):
            raise UsageError(f"footprint: {name} must rise, and {values} does not")
    return thresholds


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and value >= 0


def verdicts(tools: int, tokens: int, context: int, thresholds: Thresholds) -> tuple[Verdict, Verdict]:
    """The verdicts on that many tools, and on that many tokens of a context."""
    few, many, most = thresholds.get("tools", _TOOLS)
    much, too_much = thresholds.get("share", _SHARE)
    count = LEVELS[(tools > few) + (tools > many) + (tools > most)]
    share = tokens / context
    weight: Level = "over" if share > too_much else "warning" if share > much else "fine"
    plural = "tool" if tools == 1 else "tools"
    told = f"{tokens:,} tokens, {share:.1%} of a context of {context:,}"
    return Verdict(count, f"{tools} {plural}", _OF_TOOLS[count]), Verdict(
        weight, told, _OF_SHARE[weight]
    )


def too_many(tools: int, tokens: int, context: int, thresholds: Thresholds) -> str:
    """A message about an agent's tools that exceed the thresholds; empty if they do not."""
    few = thresholds.get("tools", _TOOLS)[2]
    if tools <= few and tokens <= context * thresholds.get("share", _SHARE)[1]:
        return ""
    over = [each for each in verdicts(tools, tokens, context, thresholds) if each.level == "over"]
    return "; ".join(f"{each.what}: {each.advice}" for each in over)

"""A request's options into how an engine samples."""

from collections.abc import Mapping, Sequence

from rightcall.core.jsontext import JsonValue
from rightcall.core.request import Request
from rightcall.errors import EncodeError
from rightcall.local.engine import Sampling

_NUMBERS = ("temperature", "top_p", "seed")


def sampling_of(request: Request) -> Sampling:
    """How the request wants its tokens chosen; what it does not say is left to the engine."""
    options = request.options
    for name in _NUMBERS:
        given = options.get(name)
        if isinstance(given, bool) or not isinstance(given, int | float | None):
            raise EncodeError("a raw model", f"a number is wanted, not {given!r}.", where=name)
    extra = options.get("extra")
    return Sampling(
        temperature=_number(options, "temperature"),
        top_p=_number(options, "top_p"),
        seed=None if (seed := _number(options, "seed")) is None else int(seed),
        max_tokens=request.max_tokens,
        stop=_stops(options.get("stop")),
        extra=extra if isinstance(extra, Mapping) else {},
    )


def _number(options: Mapping[str, JsonValue], name: str) -> float | None:
    given = options.get(name)
    return given if isinstance(given, int | float) else None


def _stops(given: JsonValue) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Sequence):
        return tuple(each for each in given if isinstance(each, str))
    return ()

"""Two runs compared, and where they first differ."""

from collections.abc import Iterator
from itertools import zip_longest

from rightcall.core.jsontext import dump
from rightcall.serve.studio.reading import Reading
from rightcall.serve.studio.to_json import Json


def compare(a: Reading, b: Reading, items: tuple[list[Json], list[Json]]) -> Json:
    """The items of two runs in pairs; ``first`` is the first that differs."""
    pairs = [_pair(one, other) for one, other in _paired(*items)]
    first = next((place for place, pair in enumerate(pairs) if not pair["same"]), None)
    return {"setup": list(_setup(a, b)), "pairs": pairs, "first": first}


def _paired(one: list[Json], other: list[Json]) -> Iterator[tuple[Json | None, Json | None]]:
    """Items of the same position: messages with messages, turn 1 with turn 1, events with events."""
    for kind in ("message", "turn"):
        mine = [item for item in one if _kind(item) == kind]
        yours = [item for item in other if _kind(item) == kind]
        yield from zip_longest(mine, yours)
    mine = [item for item in one if item["kind"] == "event"]
    yours = [item for item in other if item["kind"] == "event"]
    yield from zip_longest(mine, yours)


def _kind(item: Json) -> str:
    """The kind to pair an item by; notes on a turn are paired with the turns, where they appear."""
    if item["kind"] == "message":
        return "message" if item["id"].startswith("m") else "turn"
    return str(item["kind"])


def _pair(a: Json | None, b: Json | None) -> Json:
    differs = list(_differences(a, b))
    return {"a": a, "b": b, "same": not differs, "differs": differs}


def _differences(a: Json | None, b: Json | None) -> Iterator[str]:
    if a is None or b is None or a["kind"] != b["kind"]:
        yield "missing"
        return
    if a["kind"] == "event":
        if (a["event"], a["text"]) != (b["event"], b["text"]):
            yield "event"
        return
    if _said(a) != _said(b):
        yield "text"
    if a["kind"] == "turn":
        mine, yours = a.get("calls", []), b.get("calls", [])
        if [_asked(each) for each in mine] != [_asked(each) for each in yours]:
            yield "calls"
        if [_given(each) for each in mine] != [_given(each) for each in yours]:
            yield "results"
        if a["stop"] != b["stop"]:
            yield "stop"


def _said(item: Json) -> list[str]:
    """The text of an item, without reasoning, which may well be phrased differently."""
    told = [part for part in item["parts"] if part["type"] in ("text", "media")]
    return [item.get("author", ""), *(part.get("text") or part.get("about", "") for part in told)]


def _asked(call: Json) -> tuple[str, str]:
    arguments = call["arguments"]
    return call["name"], call["arguments_text"] if arguments is None else dump(_ordered(arguments))


def _ordered(value: object) -> object:
    """The value with members sorted: the order of an object's members means nothing."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(each) for each in value] if isinstance(value, list) else value


def _given(call: Json) -> tuple[str, list[str]]:
    result = call["result"]
    if result is None:
        return call["state"], []
    return result["outcome"], [part.get("text") or part.get("about", "") for part in result["parts"]]


def _setup(a: Reading, b: Reading) -> Iterator[Json]:
    """The differences in how the runs were started."""
    mine, yours = _begun(a), _begun(b)
    for what, one in mine.items():
        if one != yours[what]:
            yield {"what": what, "a": one, "b": yours[what]}


def _begun(reading: Reading) -> dict[str, str]:
    start = reading.start
    if start is None:
        return dict.fromkeys(("system", "tools", "budget", "agent"), "")
    budget = start.budget
    limits = ", ".join(f"{name} {getattr(budget, name)}" for name in budget.__struct_fields__)
    return {
        "system": start.system,
        "tools": ", ".join(spec.name for spec in start.specs),
        "budget": limits,
        "agent": start.agent,
    }

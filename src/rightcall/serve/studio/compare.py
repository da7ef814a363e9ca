"""Two runs compared, and where they first differ."""

from collections.abc import Iterator
from itertools import zip_longest

from rightcall.core.jsontext import dump
from rightcall.serve.studio.run_view import RunView
from rightcall.serve.studio.to_json import Json


def compare(a: RunView, b: RunView, items: tuple[list[Json], list[Json]]) -> Json:
    """The items of two runs in pairs; ``first`` is the first that differs."""
    pairs: list[Json] = []
    first = None
    # Items of the same position: messages with messages, turn 1 with turn 1, events with events.
    for kind in ("message", "turn", "event"):
        mine = [item for item in items[0] if _kind(item) == kind]
        yours = [item for item in items[1] if _kind(item) == kind]
        for one, other in zip_longest(mine, yours):
            differs = list(_differences(one, other))
            if differs and first is None:
                first = len(pairs)
            pairs.append({"a": one, "b": other, "same": not differs, "differs": differs})
    # How the runs were started.
    setup = []
    yours_facts = _start_facts(b)
    for what, fact in _start_facts(a).items():
        if fact != yours_facts[what]:
            setup.append({"what": what, "a": fact, "b": yours_facts[what]})
    return {"setup": setup, "pairs": pairs, "first": first}


def _kind(item: Json) -> str:
    """The kind to pair an item by; notes on a turn are paired with the turns, where they appear."""
    if item["kind"] == "message" and not item["id"].startswith("m"):
        return "turn"
    return str(item["kind"])


def _differences(a: Json | None, b: Json | None) -> Iterator[str]:
    if a is None or b is None or a["kind"] != b["kind"]:
        yield "missing"
        return
    if a["kind"] == "event":
        if (a["event"], a["text"]) != (b["event"], b["text"]):
            yield "event"
        return
    if _item_text(a) != _item_text(b):
        yield "text"
    if a["kind"] == "turn":
        mine = a.get("calls", [])
        yours = b.get("calls", [])
        if list(map(_call_request, mine)) != list(map(_call_request, yours)):
            yield "calls"
        if list(map(_call_result, mine)) != list(map(_call_result, yours)):
            yield "results"
        if a["stop"] != b["stop"]:
            yield "stop"


def _item_text(item: Json) -> list[str]:
    """The text of an item, without reasoning, which may well be phrased differently."""
    texts = [item.get("author", "")]
    for part in item["parts"]:
        if part["type"] in ("text", "media"):
            texts.append(part.get("text") or part.get("about", ""))
    return texts


def _call_request(call: Json) -> tuple[str, str]:
    arguments = call["arguments"]
    if arguments is None:
        return call["name"], call["arguments_text"]
    return call["name"], dump(_sort_members(arguments))


def _sort_members(value: object) -> object:
    """The value with members sorted: the order of an object's members means nothing."""
    if isinstance(value, dict):
        return {key: _sort_members(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sort_members(each) for each in value]
    return value


def _call_result(call: Json) -> tuple[str, list[str]]:
    result = call["result"]
    if result is None:
        return call["state"], []
    return result["outcome"], [part.get("text") or part.get("about", "") for part in result["parts"]]


def _start_facts(reading: RunView) -> dict[str, str]:
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

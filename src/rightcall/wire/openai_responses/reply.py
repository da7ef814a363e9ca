"""Converts items to the parts of a Reply."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from rightcall.core.call import Call
from rightcall.core.decision import VENDOR_CALL
from rightcall.core.message import Reasoning, Reply, StopReason, Unknown
from rightcall.core.parts import Media, Text, Usage
from rightcall.wire.citations import annotated
from rightcall.wire.cost import charged
from rightcall.wire.logprobs import of_openai
from rightcall.wire.openai_responses.made import made_image
from rightcall.wire.openai_responses.tables import (
    APPROVAL,
    CALLS,
    FORMS,
    INCOMPLETE,
    NAME,
    NATIVE,
    TEXTS,
    USAGE,
    WHOLE,
    WHOLE_STATUS,
)

if TYPE_CHECKING:
    from rightcall.core.citation import Citation, Token

Item: TypeAlias = dict[str, Any]
"""A JSON object as the vendor sent it."""

_KEPT = ("id", "incomplete_details", "service_tier")
_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

_BARE_ITEM = frozenset(("type", "role", "content"))
_BARE_PART = {"type": "output_text", "annotations": []}


def items_in(value: object) -> list[Item]:
    """The objects in what should be a list of objects."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_in(value: object) -> str:
    """The value if it is a string; otherwise an empty string."""
    return value if isinstance(value, str) else ""


def read_reply(response: Item, output: list[Item]) -> Reply:
    """The reply in a response, with ``output`` as its items."""
    status = text_in(response.get("status")) or "completed"
    reader = _PartsReader(broken=status not in WHOLE_STATUS, last=len(output) - 1)
    for at, item in enumerate(output):
        reader.take(at, item)
    bag: dict[str, Any] = {key: response[key] for key in _KEPT if response.get(key) is not None}
    if reader.messages:
        bag["messages"] = reader.messages
    return Reply(
        content=tuple(reader.content),
        stop=_stop(status, response, reader),
        stop_word=status,
        usage=read_usage(response.get("usage")),
        model=text_in(response.get("model")),
        vendor={NAME: bag} if bag else {},
        citations=tuple(reader.citations),
        logprobs=tuple(reader.logprobs),
    )


def read_usage(usage: object) -> Usage:
    """The usage; OpenRouter and Perplexity add the price in dollars."""
    counts = {name: _first(usage, places) for name, places in USAGE.items()}
    cost = charged(usage) if isinstance(usage, dict) and "cost" in usage else None
    return Usage(**counts, cost=cost)


def reasoning_texts(item: Item) -> list[str]:
    """The readable texts of a reasoning item: its summaries, then the reasoning itself."""
    parts = items_in(item.get("summary")) + items_in(item.get("content"))
    return [text for part in parts if (text := text_in(part.get("text")))]


def read_thought(item: Item) -> Reasoning:
    """A reasoning item as a Reasoning, with the item itself."""
    return Reasoning("\n\n".join(reasoning_texts(item)), {NAME: item})


def is_call(item: Item) -> bool:
    """Whether an item is a call for us. A shell in a container and the vendor's search are not."""
    kind = text_in(item.get("type"))
    if kind not in CALLS or (kind == "tool_search_call" and item.get("execution") != "client"):
        return False
    place = item.get("environment")
    return not isinstance(place, dict) or not text_in(place.get("type")).startswith("container")


def called(item: Item) -> str:
    """The name of the called tool; empty if it is not known yet."""
    if item["type"] == APPROVAL:
        return VENDOR_CALL
    return NATIVE.get(item["type"]) or text_in(item.get("name"))


def written(item: Item) -> str:
    """The model's input to a call: arguments as JSON text, or a custom tool's text."""
    if item["type"] == "computer_call":
        return msgspec.json.encode(_on_screen(item)).decode()
    if item["type"] == APPROVAL:
        return msgspec.json.encode(_at_server(item)).decode()
    value = item.get(CALLS[item["type"]])
    if value is None or isinstance(value, str):
        return value or ""
    # Native tools have an object here; some hosts have one for a function's arguments, too.
    return msgspec.json.encode(value).decode()


def _on_screen(item: Item) -> Item:
    """The actions of a computer call, and the safety checks that a person should see first.

    The preview of the tool has a single ``action``.
    """
    actions = item.get("actions")
    if not isinstance(actions, list):
        actions = items_in([item.get("action")])
    checks = items_in(item.get("pending_safety_checks"))
    return {"actions": actions, **({"pending_safety_checks": checks} if checks else {})}


def _at_server(item: Item) -> Item:
    """The call that the vendor wants to make, and at which server."""
    text = text_in(item.get("arguments"))
    arguments: Any = msgspec.Raw(text.encode(errors="replace")) if is_object(text) else text
    return {"server": item.get("server_label"), "tool": item.get("name"), "arguments": arguments}


def is_object(text: str) -> bool:
    """Whether the text is one complete JSON object. A prefix of one never is."""
    try:
        _read_object(text)
    except (ValueError, RecursionError):
        return False
    return True


def call_id(item: Item, position: int, taken: Sequence[str]) -> str:
    """The id of a call, generated if it has none, and unique among those taken."""
    given = text_in(item.get("call_id")) or text_in(item.get("id")) or f"call_{position}"
    found, again = given, 2
    while found in taken:
        found, again = f"{given}_{again}", again + 1
    return found


def read_call(item: Item, identity: str, *, truncated: bool = False) -> Call:
    """A call. Members that only the vendor understands (item id, status, namespace) go into the bag."""
    kind = item["type"]
    own = () if kind == APPROVAL else ("call_id", "name", CALLS[kind])
    return Call(
        id=identity,
        name=called(item),
        arguments=written(item),
        truncated=truncated,
        form=FORMS.get(kind, "json"),
        vendor={NAME: {key: value for key, value in item.items() if key not in own}},
    )


class _PartsReader:
    """Converts items, in order, to parts."""

    def __init__(self, *, broken: bool, last: int) -> None:
        self.content: list[Text | Reasoning | Call | Media | Unknown] = []
        self.citations: list[Citation] = []
        self.logprobs: list[Token] = []
        self._said = 0
        """The number of characters of text so far."""
        self.messages: list[Any] = []
        """Each message without its texts, for members that a Text cannot hold, and the index of its
        first part."""
        self.ids: list[str] = []
        self.refused = False
        self._broken = broken
        self._last = last

    def take(self, at: int, item: Item) -> None:
        kind = text_in(item.get("type"))
        parts = items_in(item.get("content")) if kind == "message" else []
        if parts and item.get("role", "assistant") == "assistant":
            self._take_message(item, parts)
        elif kind == "reasoning":
            self.content.append(read_thought(item))
        elif is_call(item):
            identity = call_id(item, len(self.ids), self.ids)
            self.ids.append(identity)
            self.content.append(read_call(item, identity, truncated=self._is_cut(at, item)))
        else:
            self.content.append(made_image(item) or Unknown({NAME: item}))

    def _take_message(self, item: Item, parts: list[Item]) -> None:
        bare: list[Item] = []
        begin = len(self.content)
        for part in parts:
            kind = text_in(part.get("type"))
            self.refused |= kind == "refusal"
            if kind in TEXTS:
                text = text_in(part.get("text"))
                self.content.append(Text(text))
                self._explain(part, text)
                bare.append({key: value for key, value in part.items() if key != "text"})
            else:
                self.content.append(Unknown({NAME: {"part": part}}))
                bare.append({})
        if not _BARE_ITEM.issuperset(item) or bare != [_BARE_PART]:
            # A message with only text is sent back as text, as in the vendor's own examples.
            self.messages.append({"at": begin, "item": {**item, "content": bare}})

    def _explain(self, part: Item, text: str) -> None:
        """Read the citations and log probabilities of a text."""
        if annotations := part.get("annotations"):
            self.citations += annotated(annotations, text, self._said)
        if logprobs := part.get("logprobs"):
            self.logprobs += of_openai(logprobs)
        self._said += len(text)

    def _is_cut(self, at: int, item: Item) -> bool:
        """Whether a call is incomplete.

        Hosts label a call that the token limit cut off "completed" (vllm #53269), so its text is checked
        too.
        """
        status = item.get("status")
        if status == "incomplete" or not self._broken:
            return status == "incomplete"
        if status == "in_progress":
            return True
        if item["type"] in WHOLE:
            # An object is always complete JSON: half a command looks like a short one.
            return at == self._last
        whole = status == "completed" if item["type"] == "custom_tool_call" else is_object(written(item))
        return at == self._last and not whole


def _stop(status: str, response: Item, reader: _PartsReader) -> StopReason:
    if status in WHOLE_STATUS:
        return "calls" if reader.ids else "refusal" if reader.refused else "end"
    details = response.get("incomplete_details")
    reason = text_in(details.get("reason")) if isinstance(details, dict) else ""
    return INCOMPLETE.get(reason, "error") if status == "incomplete" else "error"


def _first(usage: object, places: tuple[tuple[str, ...], ...]) -> int:
    for path in places:
        value: Any = usage
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return 0

"""Converts items to the parts of a Reply."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from rightcall.core.decision import VENDOR_CALL
from rightcall.core.message import Reasoning, Reply, StopReason, Unknown
from rightcall.core.parts import Call, Media, Text, Usage, sniff
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
from rightcall.wire.payload import base64_raw, items_in, mapping, own_bag, text_in, without
from rightcall.wire.reply_extras import parse_annotations, parse_openai_logprobs, reported_cost

if TYPE_CHECKING:
    from rightcall.core.message import Citation, Token


def made_image(item: Mapping[str, Any]) -> Media | None:
    """The image of an item; None if there is none, or if sending it back would change it."""
    given = item.get("result")
    if item.get("type") != "image_generation_call" or not isinstance(given, str) or not given:
        return None
    try:
        data = b64decode(given, validate=True)
    except ValueError:
        return None
    if b64encode(data).decode() != given:
        return None
    form = item.get("output_format")
    if form:
        kind = f"image/{'svg+xml' if form == 'svg' else form}"
    else:
        kind = sniff(data)
    kind = kind if kind.startswith("image/") else "image/png"
    return Media(data, kind, vendor={NAME: {k: v for k, v in item.items() if k != "result"}})


def item_of(media: Media) -> dict[str, Any] | None:
    """The item that an image came in; None for another vendor's image."""
    own = mapping(media.vendor.get(NAME))
    if own.get("type") == "image_generation_call":
        return {**own, "result": base64_raw(media)}
    return None


Item: TypeAlias = dict[str, Any]
"""A JSON object as the vendor sent it."""

_KEPT = ("id", "incomplete_details", "service_tier")
_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

_BARE_ITEM = frozenset(("type", "role", "content"))
_BARE_PART = {"type": "output_text", "annotations": []}


def read_reply(response: Item, output: list[Item]) -> Reply:
    """The reply in a response, with ``output`` as its items."""
    status = text_in(response.get("status")) or "completed"
    reader = _PartsReader(broken=status not in WHOLE_STATUS, last=len(output) - 1)
    for at, item in enumerate(output):
        reader.take(at, item)
    bag: dict[str, Any] = {}
    for key in _KEPT:
        if response.get(key) is not None:
            bag[key] = response[key]
    if reader.messages:
        bag["messages"] = reader.messages
    return Reply(
        content=tuple(reader.content),
        stop=_stop(status, response, reader),
        stop_word=status,
        usage=read_usage(response.get("usage")),
        model=text_in(response.get("model")),
        vendor=own_bag(NAME, bag),
        citations=tuple(reader.citations),
        logprobs=tuple(reader.logprobs),
    )


def read_usage(usage: object) -> Usage:
    """The usage; OpenRouter and Perplexity add the price in dollars."""
    counts = {name: _first(usage, places) for name, places in USAGE.items()}
    if isinstance(usage, dict) and "cost" in usage:
        cost = reported_cost(usage)
    else:
        cost = None
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


def call_name(item: Item) -> str:
    """The name of the called tool; empty if it is not known yet."""
    if item["type"] == APPROVAL:
        return VENDOR_CALL
    return NATIVE.get(item["type"]) or text_in(item.get("name"))


def call_input(item: Item) -> str:
    """The model's input to a call: arguments as JSON text, or a custom tool's text."""
    if item["type"] == "computer_call":
        # The actions of a computer call, and the safety checks that a person should see first.
        # The preview of the tool has a single ``action``.
        actions = item.get("actions")
        if not isinstance(actions, list):
            actions = items_in([item.get("action")])
        checks = items_in(item.get("pending_safety_checks"))
        seen: Item = {"actions": actions}
        if checks:
            seen["pending_safety_checks"] = checks
        return msgspec.json.encode(seen).decode()
    if item["type"] == APPROVAL:
        return msgspec.json.encode(_at_server(item)).decode()
    value = item.get(CALLS[item["type"]])
    if value is None or isinstance(value, str):
        return value or ""
    # Native tools have an object here; some hosts have one for a function's arguments, too.
    return msgspec.json.encode(value).decode()


def _at_server(item: Item) -> Item:
    """The call that the vendor wants to make, and at which server."""
    text = text_in(item.get("arguments"))
    if is_object(text):
        arguments: Any = msgspec.Raw(text.encode(errors="replace"))
    else:
        arguments = text
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
    found = given
    again = 2
    while found in taken:
        found = f"{given}_{again}"
        again = again + 1
    return found


def read_call(item: Item, identity: str, *, truncated: bool = False) -> Call:
    """A call. Members that only the vendor understands (item id, status, namespace) go into the bag."""
    kind = item["type"]
    own = () if kind == APPROVAL else ("call_id", "name", CALLS[kind])
    return Call(
        id=identity,
        name=call_name(item),
        arguments=call_input(item),
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
        if kind == "message":
            parts = items_in(item.get("content"))
        else:
            parts = []
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
                # Read the citations and log probabilities of a text.
                if annotations := part.get("annotations"):
                    self.citations += parse_annotations(annotations, text, self._said)
                if logprobs := part.get("logprobs"):
                    self.logprobs += parse_openai_logprobs(logprobs)
                self._said += len(text)
                bare.append(without(part, "text"))
            else:
                self.content.append(Unknown({NAME: {"part": part}}))
                bare.append({})
        if not _BARE_ITEM.issuperset(item) or bare != [_BARE_PART]:
            # A message with only text is sent back as text, as in the vendor's own examples.
            self.messages.append({"at": begin, "item": {**item, "content": bare}})

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
        if item["type"] == "custom_tool_call":
            whole = status == "completed"
        else:
            whole = is_object(call_input(item))
        return at == self._last and not whole


def _stop(status: str, response: Item, reader: _PartsReader) -> StopReason:
    if status in WHOLE_STATUS:
        if reader.ids:
            return "calls"
        if reader.refused:
            return "refusal"
        return "end"
    details = response.get("incomplete_details")
    reason = ""
    if isinstance(details, dict):
        reason = text_in(details.get("reason"))
    if status == "incomplete":
        return INCOMPLETE.get(reason, "error")
    return "error"


def _first(usage: object, places: tuple[tuple[str, ...], ...]) -> int:
    for path in places:
        value: Any = usage
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return 0

"""Converts a transcript to the input items of a request.

This dialect's own output is sent back unchanged: reasoning with its encrypted content, messages with id
and phase, calls with their item ids, and items that only this vendor understands. Other vendors'
reasoning is left out. A call of a native tool is sent back as such while the request has that tool, and
otherwise as a function call.
"""

from base64 import b64decode
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from re import compile as pattern
from typing import TypeAlias, assert_never

from msgspec import Raw, Struct

from rightcall.core.decision import APPROVED
from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.message import Message, Reasoning, Reply, Results, Unknown, User
from rightcall.core.parts import Call, Media, Part, Result, Text
from rightcall.core.request import Request
from rightcall.wire.media import check_taken, first_new, place_of
from rightcall.wire.openai_responses.reply import Item, is_object, item_of
from rightcall.wire.openai_responses.tables import (
    APPROVAL,
    CALLS,
    EXTENSIONS,
    MEDIA,
    NAME,
    NATIVE,
    OUTPUTS,
    TEXTS,
    TOLD,
    WHOLE,
)
from rightcall.wire.payload import (
    BREAKPOINT,
    EncodeCache,
    as_bytes,
    mapping,
    note_of,
    object_in,
    text_in,
    url_raw,
    without,
)

RAW_ARGUMENTS = "raw_arguments"
"""Arguments that are not a JSON object are sent as an object with their text under this name: OpenAI
accepts any text there, but vLLM and llama.cpp parse it and refuse the whole request."""
Content: TypeAlias = Text | Reasoning | Call | Media | Unknown

_NO_PICTURE = Media(
    b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
    ),
    "image/png",
)
"""One grey pixel: the result of a computer call must have an image, even if nothing was done."""

_LEGAL = pattern(r"[A-Za-z0-9_-]{1,64}")


def input_items(
    request: Request, offered: Iterable[str], cache: EncodeCache, first: int = 0
) -> list[Raw]:
    """The items for a whole transcript. A longer transcript only appends items.

    ``offered`` are the types of the request's tools. ``first`` is the index of the first message to
    send.
    """
    native = sorted(frozenset(NATIVE.values()).intersection(offered))
    key = ".".join([NAME, *native])
    new = first_new(request.messages)

    def write(writer: _Writer, message: Message, at: int) -> None:
        writer.write(message, place_of(at, new))

    writer = cache.write_messages(key, request.messages, lambda: _Writer(native), write)
    if first:
        return writer.items[writer.ends[first - 1] :]
    return writer.items


class _PendingCall(Struct, frozen=True):
    """A call that was written and waits for its result."""

    identity: str
    kind: str = "function_call"
    extra: Mapping[str, object] = {}
    """Members of the call that its result must repeat."""


class _Writer:
    """Writes messages one after another, each into bytes that no later one changes."""

    def __init__(self, native: Sequence[str]) -> None:
        self.items: list[Raw] = []
        self.ends: list[int] = []
        """The number of items after each message."""
        self._native = native
        """The types of the request's native tools."""
        self._ids: set[str] = set()
        self._waiting: defaultdict[str, deque[_PendingCall]] = defaultdict(deque)
        """The calls without a result, by their id in the transcript."""

    def write(self, message: Message, where: str) -> None:
        match message:
            case User():
                self._user(message, where)
            case Reply():
                self._reply(message)
            case Results():
                # Write the results, each for the call it answers.
                for result in message.results:
                    waiting = self._waiting[result.call_id]
                    if waiting:
                        asked = waiting.popleft()
                    else:
                        asked = _PendingCall(legal_id(result.call_id))
                    extra = mapping(result.vendor.get(NAME))
                    self._add({"type": OUTPUTS[asked.kind], **_encode_result(result, asked), **extra})
                    # The items of these calls cannot hold text, so it follows as a message.
                    if (asked.kind == "computer_call" and not _pictures(result)) or (
                        asked.kind == "tool_search_call" and _found_tools(result) is None
                    ):
                        self._add({"type": "message", "role": "user", "content": result.text})
            case _:
                assert_never(message)
        self.ends.append(len(self.items))

    def _add(self, item: object) -> None:
        self.items.append(Raw(as_bytes(item, NAME)))

    def _user(self, message: User, where: str) -> None:
        """Write a user message. Its bag may hold the vendor's own ``items``, which go before it."""
        for item in mapping(message.vendor.get(NAME)).get("items", ()):
            self._add(item)
        parts: list[Part] = []
        is_plain = True
        for part in message.content:
            if isinstance(part, Text) and not part.text:
                continue
            parts.append(part)
            is_plain = is_plain and isinstance(part, Text) and not part.cache
        if not parts:
            return
        content: list[Item] = []
        for part in parts:
            item = _input_part(part, where)
            if part.cache:
                item |= BREAKPOINT
            content.append(item)
        role = "user"
        if is_plain and message.author == "developer":
            role = "developer"
        if is_plain and len(parts) == 1:
            self._add({"type": "message", "role": role, "content": content[0]["text"]})
        else:
            self._add({"type": "message", "role": role, "content": content})

    def _reply(self, reply: Reply) -> None:
        """Write a reply, its parts in order."""
        messages = _messages(reply)
        # The vendor refuses a function call with an item id but without the reasoning before it, so if
        # some reasoning is left out, the ids are too.
        bare = False
        # "Item 'rs_…' of type 'reasoning' was provided without its required following item."
        end = 0
        for at, part in enumerate(reply.content):
            if isinstance(part, Reasoning):
                bare = bare or (NAME in part.vendor and not _is_sent(part))
            elif not isinstance(part, Unknown) or NAME in part.vendor:
                end = at + 1
        seen: set[str] = set()
        at = 0
        while at < end:
            part = reply.content[at]
            if at in messages:
                item, count = messages[at]
                self._append(item, bare=bare)
                at += count
                continue
            if _is_sent(part):
                self._part(part, seen, bare=bare)
            at += 1

    def _append(self, item: Item, *, bare: bool) -> None:
        # An approval request is identified only by its id.
        bare = bare and item["type"] != APPROVAL
        self._add(without(item, "id") if bare else item)

    def _part(self, part: Content, seen: set[str], *, bare: bool) -> None:
        match part:
            case Text():
                self._say(part.text)
            case Media():
                # An image of the vendor's tool is sent back as its item; an assistant message holds only
                # text.
                made = item_of(part)
                if made is None:
                    self._say(note_of(part))
                else:
                    self._add(made)
            case Call():
                self._append(self._call(part, seen), bare=bare)
            case Reasoning() | Unknown():
                self._add(part.vendor[NAME])
            case _:
                assert_never(part)

    def _say(self, text: str) -> None:
        self._add({"type": "message", "role": "assistant", "content": text})

    def _call(self, call: Call, seen: set[str]) -> Item:
        own = call.vendor.get(NAME)
        bag = dict(mapping(own))
        kind = bag.pop("type", "function_call")
        if not (isinstance(kind, str) and kind in CALLS):
            kind = "function_call"
        if kind == APPROVAL:
            identity = str(bag.get("id"))
            self._waiting[call.id].append(_PendingCall(identity, kind))
            return {"type": kind, **bag}
        identity = self._identity(call, seen, is_own=own is not None)
        # The result must repeat which program made the call:
        # https://platform.openai.com/docs/guides/tools-programmatic-tool-calling
        caller: Item = {}
        if bag.get("caller"):
            caller["caller"] = bag["caller"]
        if kind in NATIVE:
            value = object_in(call.arguments)
            if NATIVE[kind] in self._native and not call.truncated and value is not None:
                # The members of a native call that its result repeats.
                if kind == "shell_call" and (most := value.get("max_output_length")) is not None:
                    # "This is generated by the model and should be passed back with the raw output."
                    repeated_members = {"max_output_length": most}
                elif kind == "computer_call" and (checks := value.get("pending_safety_checks")):
                    repeated_members = {"acknowledged_safety_checks": checks}
                else:
                    repeated_members = {}
                again = {**repeated_members, **caller}
                self._waiting[call.id].append(_PendingCall(identity, kind, again))
                if kind == "computer_call":
                    # A computer call as it came: the preview of the tool has a single ``action``
                    # instead of a list.
                    if "action" in bag:
                        with_actions = bag
                    else:
                        with_actions = {**bag, "actions": value.get("actions", [])}
                    return {"type": kind, **with_actions, "call_id": identity}
                return {"type": kind, **bag, "call_id": identity, CALLS[kind]: value}
            # A function call must not have the item id of another kind of item.
            kind = "function_call"
            bag = {}
        if call.form == "text":
            kind = "custom_tool_call"
        self._waiting[call.id].append(_PendingCall(identity, kind, caller))
        if kind == "custom_tool_call":
            text = call.arguments
        else:
            text = _arguments(call.arguments)
        return {"type": kind, **bag, "call_id": identity, "name": call.name, CALLS[kind]: text}

    def _identity(self, call: Call, seen: set[str], *, is_own: bool) -> str:
        """The call's id, made legal, and unique where results could be confused.

        A host accepts its own ids back: Bedrock's are ``resp_…:call_0``.
        """
        wanted = call.id if is_own and call.id else legal_id(call.id)
        found = wanted
        again = 2
        while found in seen or (found in self._ids and not is_own):
            tail = f"_{again}"
            found = wanted[: 64 - len(tail)] + tail
            again += 1
        seen.add(found)
        self._ids.add(found)
        return found


def legal_id(identity: str) -> str:
    """The id or, if the vendor would refuse it, one derived from it. OpenAI allows 64 characters."""
    if _LEGAL.fullmatch(identity):
        return identity
    return f"call_{blake2b(identity.encode(errors='surrogatepass'), digest_size=16).hexdigest()}"


def _is_sent(part: Content) -> bool:
    match part:
        case Text():
            return bool(part.text)
        case Reasoning():
            # Without either, the vendor looks up the id and finds nothing, as nothing is stored:
            # https://github.com/vercel/ai/issues/7543. Hosts of open models send the text instead.
            own = mapping(part.vendor.get(NAME))
            return bool(own.get("encrypted_content") or own.get("content"))
        case Unknown():
            # A part of a message cannot be sent alone.
            bag = part.vendor.get(NAME)
            is_item = isinstance(bag, Mapping) and "part" not in bag
            return is_item and text_in(mapping(bag).get("type")) not in TOLD
        case Call() | Media():
            return True
        case _:
            assert_never(part)


def _messages(reply: Reply) -> dict[int, tuple[Item, int]]:
    """The reply's original messages and how many parts each has, by the index of its first part."""
    found: dict[int, tuple[Item, int]] = {}
    for entry in mapping(reply.vendor.get(NAME)).get("messages", ()):
        at = entry["at"]
        item = entry["item"]
        parts = reply.content[at : at + len(item["content"])]
        content = []
        for bare, part in zip(item["content"], parts, strict=False):
            if bare.get("type") in TEXTS and isinstance(part, Text):
                content.append({**bare, "text": part.text})
            elif not bare and isinstance(part, Unknown):
                own = mapping(part.vendor.get(NAME)).get("part")
                if own is not None:
                    content.append(own)
        # If the parts were changed since, it is no longer that message.
        if len(content) == len(item["content"]):
            found[at] = ({**item, "content": content}, len(parts))
    return found


def _arguments(text: str) -> str:
    if is_object(text):
        return text
    if text.strip():
        return dump({RAW_ARGUMENTS: text})
    return "{}"


def _encode_result(result: Result, asked: _PendingCall) -> Item:
    """The members of the item for a result, in the form for the kind of the call."""
    whose: Item = {"call_id": asked.identity}
    if asked.kind not in WHOLE:
        return {**whose, "output": _output(result), **asked.extra}
    text = "".join([part.text if isinstance(part, Text) else note_of(part) for part in result.content])
    match asked.kind:
        case "mcp_approval_request":
            yes = result.outcome == "returned" and text == APPROVED
            reason = {} if yes else {"reason": text}
            return {"approval_request_id": asked.identity, "approve": yes, **reason}
        case "tool_search_call":
            found = {"status": "completed", "tools": _found_tools(result) or []}
            return {**whose, "execution": "client", **found}
        case "local_shell_call":
            # The documentation's example has ``call_id``, the SDK's types have ``id`` for the same.
            return {**whose, "id": asked.identity, "output": f"{_error_mark(result)}{text}"}
        case "apply_patch_call":
            status = "failed" if result.is_error else "completed"
            return {**whose, "status": status, "output": text, **asked.extra}
        case "computer_call":
            picture = next(iter(_pictures(result)), _NO_PICTURE)
            shown = {"type": "computer_screenshot", "image_url": url_raw(picture)}
            return {**whose, "output": shown, **({} if result.is_error else asked.extra)}
        case _:  # a shell
            outcome: Item = {"type": "exit", "exit_code": int(result.is_error)}
            if result.outcome == "timed_out":
                outcome = {"type": "timeout"}
            said = {"stdout": text, "stderr": "", "outcome": outcome}
            return {**whose, "output": [said], **asked.extra}


def _found_tools(result: Result) -> list[Item] | None:
    """The definitions that a search found, as a list or under ``tools``; None if it returned text."""
    if result.is_error:
        return None
    try:
        value = parse(result.text)
    except JsonError:
        return None
    tools = value.get("tools") if isinstance(value, dict) else value
    if isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools):
        return tools
    return None


def _pictures(result: Result) -> list[Media]:
    pictures = []
    for part in result.content:
        if isinstance(part, Media) and part.media_type.startswith("image/"):
            pictures.append(part)
    return pictures


def _error_mark(result: Result) -> str:
    """The API has no field that marks an error, so a word in front says it, as in Chat."""
    if result.is_error and not result.text.lower().startswith("error"):
        return "Error: "
    return ""


def _output(result: Result) -> str | list[Item]:
    mark = _error_mark(result)
    if not any(isinstance(part, Media) for part in result.content):
        return f"{mark}{result.text}"
    # A tool's image that cannot be sent must not end the run: a note replaces it.
    items = [_input_part(part, "") for part in result.content if not isinstance(part, Text) or part.text]
    if mark:
        items.insert(0, {"type": "input_text", "text": mark.rstrip()})
    return items


def _input_part(part: Part, where: str) -> Item:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if not check_taken(part, MEDIA, NAME, where):
        return {"type": "input_text", "text": note_of(part)}
    more = mapping(part.vendor.get(NAME))
    if part.kind == "image":
        item: Item = {"type": "input_image", "detail": "auto"}
        if part.id is None:
            item["image_url"] = url_raw(part)
        else:
            item["file_id"] = part.id
        return {**item, **more}
    item = {"type": "input_file"}
    match part.way:
        case "id":
            item["file_id"] = part.id
        case "address":
            item["file_url"] = part.url
        case _:
            item["filename"] = part.name or f"file{EXTENSIONS.get(part.media_type, '.txt')}"
            item["file_data"] = url_raw(part)
    return {**item, **more}

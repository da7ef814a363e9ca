"""ResponseItems of answers that Responses clients may refer to later instead of sending them again.

A client that does not say ``store: false`` may expect its vendor to store every answer, and refers to
its items by their ids, as the AI SDK does. Answers that were passed through are stored by the vendor;
items of translated ones are stored here, for as long as there is room.
"""

import re
from collections import OrderedDict
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightcall.errors import VendorError

_MOST_BYTES = 64 * 1024 * 1024
_DONE = re.compile(rb'^data: (\{.*"response\.output_item\.done".*)$', re.MULTILINE)
_REFERENCE = b'"item_reference"'


class _Item(Struct, gc=False):
    id: str = ""
    type: str = ""


class _Done(Struct, gc=False):
    item: Raw


class _Whole(Struct, gc=False):
    output: list[Raw] = []


_item = msgspec.json.Decoder(_Item).decode
_done = msgspec.json.Decoder(_Done).decode
_whole = msgspec.json.Decoder(_Whole).decode


class ResponseItems:
    """The items of answers, by key and id; the oldest are evicted."""

    def __init__(self) -> None:
        self._items: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._size = 0

    def see(self, holder: str, data: bytes) -> None:
        """Store the items of an answer, or of a piece of a stream."""
        if data.startswith(b"{"):
            found = _whole(data).output
        else:
            found = [_done(match[1]).item for match in _DONE.finditer(data)]
        for raw in found:
            item = bytes(raw)
            self._keep((holder, _item(item).id), item)

    def expanded(self, holder: str, body: bytes) -> bytes:
        """A request with its references replaced by the items. Raises VendorError for an unknown one."""
        if _REFERENCE not in body:
            return body
        members: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Raw])
        given = bytes(members.get("input", b""))
        if not given.startswith(b"["):
            return body
        items = msgspec.json.decode(given, type=list[Raw])
        members["input"] = [self._resolved(holder, bytes(raw)) for raw in items]
        return msgspec.json.encode(members)

    def _resolved(self, holder: str, raw: bytes) -> Raw:
        item = _item(raw)
        if item.type != "item_reference":
            return Raw(raw)
        kept = self._items.get((holder, item.id))
        if kept is None:
            raise VendorError(f"Item with id '{item.id}' not found.", kind="not_found", status=404)
        return Raw(kept)

    def _keep(self, key: tuple[str, str], item: bytes) -> None:
        if key[1] and key not in self._items:
            self._items[key] = item
            self._size += len(item)
            while self._size > _MOST_BYTES:
                self._size -= len(self._items.popitem(last=False)[1])

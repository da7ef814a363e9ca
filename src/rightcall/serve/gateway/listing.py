"""The served models, in the shape of the client's vendor."""

from collections.abc import Sequence

import msgspec

from rightcall.core.ports import ServerDialect
from rightcall.core.served import Listed
from rightcall.errors import VendorError
from rightcall.serve.gateway.doors import GEMINI, Door

_CREATED = 1_700_000_000


def listed(server: ServerDialect, door: Door, names: Sequence[str]) -> bytes:
    """The list of these models, or the one that the address names."""
    if door.action == "list":
        return server.listed([_told(name) for name in names])
    if door.model not in names:
        raise VendorError(f"no model {door.model!r} is served here", kind="not_found", status=404)
    # A single model has the shape that it has in the list.
    whole = msgspec.json.decode(server.listed([_told(door.model)]))
    return msgspec.json.encode(whole["models" if door.dialect == GEMINI else "data"][0])


def _told(name: str) -> Listed:
    return Listed(name=name, created=_CREATED)

"""The served models, in the shape of the client's vendor."""

from collections.abc import Sequence

import msgspec

from rightcall.core.ports import ServerDialect
from rightcall.core.served import Listed
from rightcall.errors import VendorError
from rightcall.serve.gateway.endpoints import GEMINI, Endpoint

_CREATED = 1_700_000_000


def listed(server: ServerDialect, endpoint: Endpoint, names: Sequence[str]) -> bytes:
    """The list of these models, or the one that the address names."""
    if endpoint.action == "list":
        return server.listed([_told(name) for name in names])
    if endpoint.model not in names:
        raise VendorError(f"no model {endpoint.model!r} is served here", kind="not_found", status=404)
    # A single model has the shape that it has in the list.
    whole = msgspec.json.decode(server.listed([_told(endpoint.model)]))
    return msgspec.json.encode(whole["models" if endpoint.dialect == GEMINI else "data"][0])


def _told(name: str) -> Listed:
    return Listed(name=name, created=_CREATED)

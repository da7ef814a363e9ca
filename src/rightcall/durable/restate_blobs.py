"""Long values in a Restate server: one object each, named by its content, in pieces."""

from collections.abc import Sequence
from time import time

from rightcall.durable.blobs import checked_bytes, reference_to
from rightcall.durable.restate_client import RestateClient, quoted
from rightcall.durable.restate_objects import BLOB

_PIECE = 1_000_000
"""Bytes of one piece: far below what the server accepts in one message."""


class RestateBlobs:
    """Stores long values beside the journals that refer to them. Storing one needs a worker."""

    def __init__(self, client: RestateClient) -> None:
        self._client = client

    async def put(self, run: str, data: bytes) -> str:
        """Store bytes for a run. They are durable when this returns."""
        reference = reference_to(data)
        # The owner first: pieces that a dying process leaves behind are then deleted with its run, too.
        if not await self._client.call(BLOB, reference, "own", {"run": run, "at": time()}):
            starts = range(0, len(data), _PIECE)
            for number, start in enumerate(starts):
                piece = f"{number:06d}".encode() + data[start : start + _PIECE]
                await self._client.call(BLOB, reference, "piece", piece)
            await self._client.call(BLOB, reference, "whole", len(starts))
        return reference

    async def get(self, reference: str) -> bytes:
        """The bytes of that reference, checked."""
        rows = await self._client.query(
            f"select key, value from state where service_name = {quoted(BLOB)}"  # noqa: S608
            f" and service_key = {quoted(reference)} and (key like 'p/%' or key = 'whole') order by key"
        )
        whole = any(row["key"] == "whole" for row in rows)
        pieces = [bytes.fromhex(row["value"]) for row in rows if row["key"] != "whole"]
        return checked_bytes(reference, b"".join(pieces) if whole else None)

    async def share(self, run: str, other: str) -> None:
        """Make another run an owner of all values of a run."""
        for reference in await self._owned(run):
            await self._client.call(BLOB, reference, "own", {"run": other, "at": time()})

    async def drop(self, runs: Sequence[str]) -> int:
        """Delete what only these runs own; returns how many values were deleted."""
        gone = 0
        for run in runs:
            for reference in await self._owned(run):
                gone += bool(await self._client.call(BLOB, reference, "disown", {"run": run}))
        return gone

    async def _owned(self, run: str) -> list[str]:
        rows = await self._client.query(
            f"select service_key from state where service_name = {quoted(BLOB)}"  # noqa: S608
            f" and key = {quoted(f'for/{run}')} order by service_key"
        )
        return [row["service_key"] for row in rows]

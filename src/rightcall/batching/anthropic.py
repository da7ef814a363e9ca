"""Anthropic's message batches: all requests in one body, results as JSON lines.

https://docs.claude.com/en/docs/build-with-claude/batch-processing
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightcall.batching.formats import (
    MAX_RESULTS,
    NOTHING,
    Exchange,
    Found,
    Sent,
    Standing,
    Unsure,
    cancelled,
    count_in,
    expired,
    lines_in,
    read,
    text_in,
)
from rightcall.core.ports import Dialect
from rightcall.request.whole import Errand
from rightcall.wire.anthropic.encode import VERSION

_BATCHES = "/v1/messages/batches"
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
_SLACK = 300.0
"""Seconds by which two clocks may differ."""
_VERSION = {"anthropic-version": VERSION}
_PAGE = 100


class _Result(Struct):
    type: str = ""
    message: Raw = NOTHING
    error: Raw = NOTHING


class _Line(Struct):
    custom_id: str
    result: _Result


class AnthropicFormat:
    """Anthropic's batch format."""

    most_requests = 100_000
    most_bytes = 240_000_000

    def submit(self, sent: Sent) -> Exchange[str]:
        """Submit all requests at once. The API has no field for a label."""
        pairs = zip(sent.ids, sent.requests, strict=True)
        body = {"requests": [{"custom_id": name, "params": Raw(each.body)} for name, each in pairs]}
        made = yield Errand(
            path=_BATCHES,
            method="POST",
            body=msgspec.json.encode(body),
            headers={**_VERSION, **sent.headers},
            once=True,
        )
        return text_in(read(made.body), "id")

    def find(self, _label: str, ids: Sequence[str], since: float) -> Exchange[str | Unsure | None]:
        """The batch whose results have our request ids. An unfinished one has none, and may be it."""
        unsure: list[str] = []
        for batch in (yield from _since(since)):
            if count_in(batch.get("request_counts"), *_COUNTS) != len(ids):
                continue
            name = text_in(batch, "id")
            if not batch.get("results_url"):
                unsure.append(name)
                continue
            got = yield Errand(path=f"{_BATCHES}/{name}/results", headers=_VERSION, most=MAX_RESULTS)
            first = next(iter(lines_in(got.body, _Line)), None)
            if first is not None and first.custom_id in ids:
                return name
        return Unsure(tuple(unsure)) if unsure else None

    def look(self, batch: str) -> Exchange[Standing]:
        """The batch's status."""
        found = read((yield Errand(path=f"{_BATCHES}/{batch}", headers=_VERSION)).body)
        counts, status = found.get("request_counts"), str(found.get("processing_status"))
        return Standing(
            id=batch,
            status=status,
            is_over=status == "ended",
            total=count_in(counts, *_COUNTS),
            done=count_in(counts, "succeeded"),
            failed=count_in(counts, "errored", "canceled", "expired"),
            places=(f"{_BATCHES}/{batch}/results",) if found.get("results_url") else (),
        )

    def results(self, standing: Standing, dialect: Dialect) -> Exchange[Iterable[Found]]:
        """The result of every request."""
        if not standing.places:
            return ()
        got = yield Errand(path=standing.places[0], headers=_VERSION, most=MAX_RESULTS)
        return _found(got.body, dialect)

    def cancel(self, batch: str) -> Exchange[None]:
        """Cancel the batch; requests in progress are finished first."""
        yield Errand(path=f"{_BATCHES}/{batch}/cancel", method="POST", headers=_VERSION)


def _since(since: float) -> Exchange[list[dict[str, Any]]]:
    """The batches created after ``since``, newest first."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        query = f"?limit={_PAGE}" + (f"&after_id={after}" if after else "")
        page = read((yield Errand(path=f"{_BATCHES}{query}", headers=_VERSION)).body)
        batches = [each for each in page.get("data") or () if isinstance(each, dict)]
        recent = [each for each in batches if _made(each) >= since - _SLACK]
        found += recent
        if len(recent) < len(batches) or not batches or not page.get("has_more"):
            return found
        after = text_in(batches[-1], "id")


def _made(batch: dict[str, Any]) -> float:
    return datetime.fromisoformat(text_in(batch, "created_at")).timestamp()


def _found(body: bytes, dialect: Dialect) -> Iterator[Found]:
    for line in lines_in(body, _Line):
        name, result = line.custom_id, line.result
        match result.type:
            case "succeeded":
                yield Found(id=name, body=bytes(result.message))
            case "expired":
                yield Found(id=name, error=expired())
            case "canceled":
                yield Found(id=name, error=cancelled())
            case _:
                yield Found(id=name, error=dialect.error(0, {}, bytes(result.error)))

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
    BatchStatus,
    Exchange,
    PossibleBatches,
    RequestResult,
    Submission,
    cancelled_error,
    count_in,
    expired_error,
    lines_in,
    parse_object,
    text_in,
)
from rightcall.core.ports import Dialect
from rightcall.request.endpoint import Errand
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


class _AnthropicResultLine(Struct):
    custom_id: str
    result: _Result


class AnthropicFormat:
    """Anthropic's batch format."""

    most_requests = 100_000
    most_bytes = 240_000_000

    def submit(self, sent: Submission) -> Exchange[str]:
        """Submit all requests at once. The API has no field for a label."""
        requests = []
        for name, each in zip(sent.ids, sent.requests, strict=True):
            requests.append({"custom_id": name, "params": Raw(each.body)})
        made = yield Errand(
            path=_BATCHES,
            method="POST",
            body=msgspec.json.encode({"requests": requests}),
            headers={**_VERSION, **sent.headers},
            once=True,
        )
        return text_in(parse_object(made.body), "id")

    def find(
        self, _label: str, ids: Sequence[str], since: float
    ) -> Exchange[str | PossibleBatches | None]:
        """The batch whose results have our request ids. An unfinished one has none, and may be it."""
        unsure: list[str] = []
        for batch in (yield from _list_since(since)):
            if count_in(batch.get("request_counts"), *_COUNTS) != len(ids):
                continue
            name = text_in(batch, "id")
            if not batch.get("results_url"):
                unsure.append(name)
                continue
            got = yield Errand(path=f"{_BATCHES}/{name}/results", headers=_VERSION, most=MAX_RESULTS)
            first = next(iter(lines_in(got.body, _AnthropicResultLine)), None)
            if first is not None and first.custom_id in ids:
                return name
        if unsure:
            return PossibleBatches(tuple(unsure))
        return None

    def fetch_status(self, batch: str) -> Exchange[BatchStatus]:
        """The batch's status."""
        found = parse_object((yield Errand(path=f"{_BATCHES}/{batch}", headers=_VERSION)).body)
        counts = found.get("request_counts")
        status = str(found.get("processing_status"))
        return BatchStatus(
            id=batch,
            status=status,
            is_over=status == "ended",
            total=count_in(counts, *_COUNTS),
            done=count_in(counts, "succeeded"),
            failed=count_in(counts, "errored", "canceled", "expired"),
            places=(f"{_BATCHES}/{batch}/results",) if found.get("results_url") else (),
        )

    def results(self, standing: BatchStatus, dialect: Dialect) -> Exchange[Iterable[RequestResult]]:
        """The result of every request."""
        if not standing.places:
            return ()
        got = yield Errand(path=standing.places[0], headers=_VERSION, most=MAX_RESULTS)
        return _parse_results(got.body, dialect)

    def cancel(self, batch: str) -> Exchange[None]:
        """Cancel the batch; requests in progress are finished first."""
        yield Errand(path=f"{_BATCHES}/{batch}/cancel", method="POST", headers=_VERSION)


def _list_since(since: float) -> Exchange[list[dict[str, Any]]]:
    """The batches created after ``since``, newest first."""
    recent: list[dict[str, Any]] = []
    query = f"?limit={_PAGE}"
    while True:
        page = parse_object((yield Errand(path=f"{_BATCHES}{query}", headers=_VERSION)).body)
        batches = [each for each in page.get("data") or () if isinstance(each, dict)]
        is_last = not batches or not page.get("has_more")
        for batch in batches:
            created = datetime.fromisoformat(text_in(batch, "created_at"))
            if created.timestamp() >= since - _SLACK:
                recent.append(batch)
            else:
                is_last = True
        if is_last:
            return recent
        query = f"?limit={_PAGE}&after_id={text_in(batches[-1], 'id')}"


def _parse_results(body: bytes, dialect: Dialect) -> Iterator[RequestResult]:
    for line in lines_in(body, _AnthropicResultLine):
        name = line.custom_id
        result = line.result
        match result.type:
            case "succeeded":
                yield RequestResult(id=name, body=bytes(result.message))
            case "expired":
                yield RequestResult(id=name, error=expired_error())
            case "canceled":
                yield RequestResult(id=name, error=cancelled_error())
            case _:
                yield RequestResult(id=name, error=dialect.error(0, {}, bytes(result.error)))

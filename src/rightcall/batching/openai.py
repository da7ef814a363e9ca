"""OpenAI's batch API, for Chat and for Responses: a file of requests, a batch, files of results.

https://platform.openai.com/docs/guides/batch and .../docs/api-reference/batch
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Raw, Struct

from rightcall.batching.formats import (
    MAX_RESULTS,
    NOTHING,
    BatchStatus,
    Exchange,
    RequestResult,
    Submission,
    cancelled_error,
    count_in,
    expired_error,
    lines_in,
    missing_result_error,
    parse_object,
    text_in,
)
from rightcall.core.ports import Dialect
from rightcall.errors import VendorError
from rightcall.request.endpoint import Errand

_OVER = frozenset(("completed", "failed", "expired", "cancelled"))
_LABEL = "rightcall_batch"
_BOUNDARY = "rightcall-5f0c3a7e91d24b68"
_SLACK = 3600.0
"""Seconds by which two clocks may differ."""
_GOOD = range(200, 300)
_PAGE = 100
_SHOWN = 3


class _Response(Struct):
    status_code: int = 0
    body: Raw = NOTHING


class _OpenAIResultLine(Struct):
    custom_id: str
    response: _Response | None = None
    error: Raw = NOTHING


class OpenAIFormat:
    """OpenAI's batch format."""

    most_requests = 50_000
    most_bytes = 190_000_000

    def submit(self, sent: Submission) -> Exchange[str]:
        """Upload the requests, and create a batch of them that can be found by its label."""
        endpoint = f"/v1{sent.requests[0].path}"
        uploaded = yield _upload(sent, endpoint)
        body = {
            "input_file_id": text_in(parse_object(uploaded.body), "id"),
            "endpoint": endpoint,
            "completion_window": "24h",
            "metadata": {_LABEL: sent.label},
        }
        made = yield Errand(
            path="/batches",
            method="POST",
            body=msgspec.json.encode(body),
            headers=sent.headers,
            once=True,
        )
        return text_in(parse_object(made.body), "id")

    def find(self, label: str, _ids: Sequence[str], since: float) -> Exchange[str | None]:
        """The batch with that label among those created after ``since``."""
        after = ""
        while True:
            query = f"limit={_PAGE}"
            if after:
                query += f"&{urlencode({'after': after})}"
            page = parse_object((yield Errand(path=f"/batches?{query}")).body)
            oldest: dict[str, Any] | None = None
            for batch in page.get("data") or ():
                if isinstance(batch, dict):
                    oldest = batch
                    if (batch.get("metadata") or {}).get(_LABEL) == label:
                        return text_in(batch, "id")
            if oldest is None or not page.get("has_more"):
                return None
            created = oldest.get("created_at")
            if isinstance(created, int | float) and created < since - _SLACK:
                return None
            after = text_in(oldest, "id")

    def fetch_status(self, batch: str) -> Exchange[BatchStatus]:
        """The batch's status."""
        found = parse_object((yield Errand(path=f"/batches/{batch}")).body)
        counts = found.get("request_counts")
        status = str(found.get("status"))
        places = []
        for name in ("output_file_id", "error_file_id"):
            place = found.get(name)
            if isinstance(place, str) and place:
                places.append(place)
        return BatchStatus(
            id=batch,
            status=status,
            is_over=status in _OVER,
            total=count_in(counts, "total"),
            done=count_in(counts, "completed"),
            failed=count_in(counts, "failed"),
            places=tuple(places),
            problem=_problem(status, found),
        )

    def results(self, standing: BatchStatus, dialect: Dialect) -> Exchange[Iterable[RequestResult]]:
        """The results in the files: replies, and the refusals of single requests."""
        files: list[Iterator[RequestResult]] = []
        for place in standing.places:
            got = yield Errand(path=f"/files/{place}/content", most=MAX_RESULTS)
            files.append(_parse_results(got.body, dialect))
        return chain.from_iterable(files)

    def cancel(self, batch: str) -> Exchange[None]:
        """Cancel the batch, which takes up to ten minutes."""
        yield Errand(path=f"/batches/{batch}/cancel", method="POST")


def _upload(sent: Submission, endpoint: str) -> Errand:
    """The upload of the requests as a form with a file of JSON lines."""
    lines = []
    for name, outgoing in zip(sent.ids, sent.requests, strict=True):
        line = {"custom_id": name, "method": "POST", "url": endpoint, "body": Raw(outgoing.body)}
        lines.append(msgspec.json.encode(line))
    mark = f"--{_BOUNDARY}".encode()
    field = b'content-disposition: form-data; name="%s"'
    parts = (
        (mark, field % b"purpose", b"", b"batch"),
        (mark, field % b"file" + b'; filename="%s.jsonl"' % sent.label.encode()),
        (b"content-type: application/jsonl", b"", b"\n".join(lines)),
        (mark + b"--", b""),
    )
    body = b"\r\n".join(chain.from_iterable(parts))
    kind = {"content-type": f"multipart/form-data; boundary={_BOUNDARY}"}
    return Errand(path="/files", method="POST", body=body, headers=kind)


def _parse_results(body: bytes, dialect: Dialect) -> Iterator[RequestResult]:
    for line in lines_in(body, _OpenAIResultLine):
        response = line.response
        if response is not None and response.status_code in _GOOD:
            yield RequestResult(id=line.custom_id, body=bytes(response.body))
        elif response is not None and response.status_code:
            error = dialect.error(response.status_code, {}, bytes(response.body))
            yield RequestResult(id=line.custom_id, error=error)
        else:
            match msgspec.json.decode(line.error):
                case {"code": "batch_expired"}:
                    error = expired_error()
                case {"code": "batch_cancelled"}:
                    error = cancelled_error()
                case _:
                    error = dialect.error(0, {}, b'{"error":%s}' % bytes(line.error))
            yield RequestResult(id=line.custom_id, error=error)


def _problem(status: str, batch: Mapping[str, Any]) -> VendorError | None:
    """Why some requests have no line of their own."""
    if status == "expired":
        return expired_error()
    if status == "cancelled":
        return cancelled_error()
    if status != "failed":
        return None
    errors = batch.get("errors") or {}
    code = ""
    words = []
    for each in errors.get("data") or ():
        if isinstance(each, dict):
            code = code or str(each.get("code") or "")
            where = f" (line {each['line']})" if each.get("line") else ""
            words.append(f"{each.get('message')}{where}")
    message = "; ".join(words[:_SHOWN]) or "the batch failed without a word"
    return missing_result_error("bad_request", code or "failed", message)

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
    Exchange,
    Found,
    Sent,
    Standing,
    cancelled,
    count_in,
    expired,
    lines_in,
    read,
    text_in,
    without_result,
)
from rightcall.core.ports import Dialect
from rightcall.errors import VendorError
from rightcall.request.whole import Errand

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


class _Line(Struct):
    custom_id: str
    response: _Response | None = None
    error: Raw = NOTHING


class OpenAIFormat:
    """OpenAI's batch format."""

    most_requests = 50_000
    most_bytes = 190_000_000

    def submit(self, sent: Sent) -> Exchange[str]:
        """Upload the requests, and create a batch of them that can be found by its label."""
        endpoint = f"/v1{sent.requests[0].path}"
        uploaded = yield _upload(sent, endpoint)
        body = {
            "input_file_id": text_in(read(uploaded.body), "id"),
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
        return text_in(read(made.body), "id")

    def find(self, label: str, _ids: Sequence[str], since: float) -> Exchange[str | None]:
        """The batch with that label among those created after ``since``."""
        after = ""
        while True:
            query = urlencode({"limit": _PAGE, **({"after": after} if after else {})})
            page = read((yield Errand(path=f"/batches?{query}")).body)
            batches = [each for each in page.get("data") or () if isinstance(each, dict)]
            for batch in batches:
                if (batch.get("metadata") or {}).get(_LABEL) == label:
                    return text_in(batch, "id")
            oldest = batches[-1].get("created_at") if batches else None
            is_past = isinstance(oldest, int | float) and oldest < since - _SLACK
            if not batches or is_past or not page.get("has_more"):
                return None
            after = text_in(batches[-1], "id")

    def look(self, batch: str) -> Exchange[Standing]:
        """The batch's status."""
        found = read((yield Errand(path=f"/batches/{batch}")).body)
        counts, status = found.get("request_counts"), str(found.get("status"))
        places = [found.get(name) for name in ("output_file_id", "error_file_id")]
        return Standing(
            id=batch,
            status=status,
            is_over=status in _OVER,
            total=count_in(counts, "total"),
            done=count_in(counts, "completed"),
            failed=count_in(counts, "failed"),
            places=tuple([place for place in places if isinstance(place, str) and place]),
            problem=_problem(status, found),
        )

    def results(self, standing: Standing, dialect: Dialect) -> Exchange[Iterable[Found]]:
        """The results in the files: replies, and the refusals of single requests."""
        files: list[Iterator[Found]] = []
        for place in standing.places:
            got = yield Errand(path=f"/files/{place}/content", most=MAX_RESULTS)
            files.append(_found(got.body, dialect))
        return chain.from_iterable(files)

    def cancel(self, batch: str) -> Exchange[None]:
        """Cancel the batch, which takes up to ten minutes."""
        yield Errand(path=f"/batches/{batch}/cancel", method="POST")


def _upload(sent: Sent, endpoint: str) -> Errand:
    """The upload of the requests as a form with a file of JSON lines."""
    lines = [
        msgspec.json.encode(
            {"custom_id": name, "method": "POST", "url": endpoint, "body": Raw(outgoing.body)}
        )
        for name, outgoing in zip(sent.ids, sent.requests, strict=True)
    ]
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


def _found(body: bytes, dialect: Dialect) -> Iterator[Found]:
    for line in lines_in(body, _Line):
        response = line.response
        if response is not None and response.status_code in _GOOD:
            yield Found(id=line.custom_id, body=bytes(response.body))
        elif response is not None and response.status_code:
            error = dialect.error(response.status_code, {}, bytes(response.body))
            yield Found(id=line.custom_id, error=error)
        else:
            yield Found(id=line.custom_id, error=_refused(bytes(line.error), dialect))


def _refused(raw: bytes, dialect: Dialect) -> VendorError:
    told: Any = msgspec.json.decode(raw)
    code = told.get("code") if isinstance(told, dict) else None
    known = {"batch_expired": expired, "batch_cancelled": cancelled}.get(str(code))
    return known() if known else dialect.error(0, {}, b'{"error":%s}' % raw)


def _problem(status: str, batch: Mapping[str, Any]) -> VendorError | None:
    """Why some requests have no line of their own."""
    if status in ("expired", "cancelled"):
        return expired() if status == "expired" else cancelled()
    if status != "failed":
        return None
    errors = batch.get("errors")
    told = [each for each in (errors or {}).get("data") or () if isinstance(each, dict)]
    words = [
        f"{each.get('message')}" + (f" (line {each['line']})" if each.get("line") else "")
        for each in told[:_SHOWN]
    ]
    code = next((str(each["code"]) for each in told if each.get("code")), "failed")
    return without_result("bad_request", code, "; ".join(words) or "the batch failed without a word")

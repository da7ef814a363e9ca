"""Gemini's batch API: requests in the body or, if large, in a file; results likewise.

https://ai.google.dev/gemini-api/docs/batch-api and https://ai.google.dev/api/batch-api
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

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
from rightcall.errors import ProtocolError, VendorError
from rightcall.request.whole import Errand

_MOST_INLINE = 15_000_000
"""The most bytes of requests in the body; the vendor's limit is 20 MB, including our ids."""
_OVER = frozenset(("SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"))
_HTTP = {1: 499, 3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 13: 500, 14: 503, 16: 401}
"""The HTTP status for each gRPC code."""
_FIRST_STATUS = 100
_PAGE = 100


class _Line(Struct):
    key: str = ""
    metadata: dict[str, Any] = {}
    response: Raw = NOTHING
    error: Raw = NOTHING


class GeminiFormat:
    """Gemini's batch format."""

    most_requests = 50_000
    most_bytes = 1_000_000_000

    def submit(self, sent: Sent) -> Exchange[str]:
        """Submit a batch with its label."""
        source: dict[str, Any]
        if sum(len(outgoing.body) for outgoing in sent.requests) <= _MOST_INLINE:
            source = {"requests": {"requests": [*_inlined(sent)]}}
        else:
            source = {"fileName": (yield from _uploaded(sent))}
        body = {"batch": {"displayName": sent.label, "inputConfig": source}}
        made = yield Errand(
            path=sent.requests[0].path.replace(":generateContent", ":batchGenerateContent"),
            method="POST",
            body=msgspec.json.encode(body),
            headers=sent.headers,
            once=True,
        )
        return text_in(read(made.body), "name")

    def find(self, label: str, _ids: Sequence[str], _since: float) -> Exchange[str | None]:
        """The batch with that label."""
        token = ""
        while True:
            query = f"?pageSize={_PAGE}" + (f"&pageToken={quote(token, safe='')}" if token else "")
            page = read((yield Errand(path=f"/v1beta/batches{query}")).body)
            for batch in page.get("operations") or ():
                if (batch.get("metadata") or {}).get("displayName") == label:
                    return text_in(batch, "name")
            token = page.get("nextPageToken") or ""
            if not token:
                return None

    def look(self, batch: str) -> Exchange[Standing]:
        """The batch's status; for small batches with the results."""
        body = (yield Errand(path=f"/v1beta/{batch}", most=MAX_RESULTS)).body
        found = read(body)
        metadata = found.get("metadata") or {}
        status = str(metadata.get("state", "")).removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        stats = metadata.get("batchStats")
        output = found.get("response") or metadata.get("output") or {}
        place = output.get("responsesFile")
        inlined = (output.get("inlinedResponses") or {}).get("inlinedResponses")
        return Standing(
            id=batch,
            status=status.lower(),
            is_over=status in _OVER or bool(found.get("done")),
            total=count_in(stats, "requestCount"),
            done=count_in(stats, "successfulRequestCount"),
            failed=count_in(stats, "failedRequestCount"),
            places=(place,) if isinstance(place, str) and place else (),
            inline=None if inlined is None else Raw(msgspec.json.encode(inlined)),
            problem=_problem(status, found.get("error")),
        )

    def results(self, standing: Standing, dialect: Dialect) -> Exchange[Iterable[Found]]:
        """The results that came with the status, or those in the file."""
        if standing.inline is not None:
            return _found(msgspec.json.decode(standing.inline, type=list[_Line]), dialect)
        if not standing.places:
            return ()
        path = f"/download/v1beta/{standing.places[0]}:download?alt=media"
        got = yield Errand(path=path, most=MAX_RESULTS)
        return _found(lines_in(got.body, _Line), dialect)

    def cancel(self, batch: str) -> Exchange[None]:
        """Cancel the batch."""
        yield Errand(path=f"/v1beta/{batch}:cancel", method="POST", body=b"{}")


def _inlined(sent: Sent) -> Iterator[dict[str, Any]]:
    for name, outgoing in zip(sent.ids, sent.requests, strict=True):
        yield {"request": Raw(outgoing.body), "metadata": {"key": name}}


def _uploaded(sent: Sent) -> Exchange[str]:
    """Upload the requests as a file of JSON lines; returns the file's name."""
    pairs = zip(sent.ids, sent.requests, strict=True)
    lines = [msgspec.json.encode({"key": name, "request": Raw(each.body)}) for name, each in pairs]
    data = b"\n".join(lines)
    begun = yield Errand(
        path="/upload/v1beta/files",
        method="POST",
        body=msgspec.json.encode({"file": {"displayName": sent.label}}),
        headers={
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(len(data)),
            "x-goog-upload-header-content-type": "application/jsonl",
        },
    )
    place = begun.headers.get("x-goog-upload-url", "")
    if not place:
        raise ProtocolError("the vendor did not say where the requests are to be uploaded to")
    offset = {"x-goog-upload-offset": "0", "x-goog-upload-command": "upload, finalize"}
    done = yield Errand(path=place, method="POST", body=data, headers=offset)
    return text_in(read(done.body).get("file") or {}, "name")


def _found(lines: Iterable[_Line], dialect: Dialect) -> Iterator[Found]:
    for line in lines:
        name = line.key or str(line.metadata.get("key", ""))
        if bytes(line.response) != bytes(NOTHING):
            yield Found(id=name, body=bytes(line.response))
        else:
            yield Found(id=name, error=_refused(msgspec.json.decode(line.error), dialect))


def _refused(told: Any, dialect: Dialect) -> VendorError:
    """The refusal in a ``google.rpc.Status``, whose code is a gRPC code."""
    code = told.get("code") if isinstance(told, dict) else None
    if not isinstance(code, int):
        return dialect.error(0, {}, msgspec.json.encode({"error": told}))
    status = code if code >= _FIRST_STATUS else _HTTP.get(code, 500)
    return dialect.error(status, {}, msgspec.json.encode({"error": {**told, "code": status}}))


def _problem(status: str, error: Any) -> VendorError | None:
    """Why some requests have no result."""
    if status in ("EXPIRED", "CANCELLED"):
        return expired() if status == "EXPIRED" else cancelled()
    if status != "FAILED":
        return None
    words = error.get("message") if isinstance(error, dict) else None
    return without_result("server", "failed", words or "the batch failed without a word")

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
from rightcall.errors import ProtocolError, VendorError
from rightcall.request.endpoint import Errand

_MOST_INLINE = 15_000_000
"""The most bytes of requests in the body; the vendor's limit is 20 MB, including our ids."""
_OVER = frozenset(("SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"))
_HTTP = {1: 499, 3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 13: 500, 14: 503, 16: 401}
"""The HTTP status for each gRPC code."""
_FIRST_STATUS = 100
_PAGE = 100


class _GeminiResultLine(Struct):
    key: str = ""
    metadata: dict[str, Any] = {}
    response: Raw = NOTHING
    error: Raw = NOTHING


class GeminiFormat:
    """Gemini's batch format."""

    most_requests = 50_000
    most_bytes = 1_000_000_000

    def submit(self, sent: Submission) -> Exchange[str]:
        """Submit a batch with its label."""
        source: dict[str, Any]
        if sum(len(outgoing.body) for outgoing in sent.requests) <= _MOST_INLINE:
            inline = []
            for name, outgoing in zip(sent.ids, sent.requests, strict=True):
                inline.append({"request": Raw(outgoing.body), "metadata": {"key": name}})
            source = {"requests": {"requests": inline}}
        else:
            source = {"fileName": (yield from _upload_requests(sent))}
        body = {"batch": {"displayName": sent.label, "inputConfig": source}}
        made = yield Errand(
            path=sent.requests[0].path.replace(":generateContent", ":batchGenerateContent"),
            method="POST",
            body=msgspec.json.encode(body),
            headers=sent.headers,
            once=True,
        )
        return text_in(parse_object(made.body), "name")

    def find(self, label: str, _ids: Sequence[str], _since: float) -> Exchange[str | None]:
        """The batch with that label."""
        token = ""
        while True:
            query = f"?pageSize={_PAGE}"
            if token:
                query += f"&pageToken={quote(token, safe='')}"
            page = parse_object((yield Errand(path=f"/v1beta/batches{query}")).body)
            for batch in page.get("operations") or ():
                if (batch.get("metadata") or {}).get("displayName") == label:
                    return text_in(batch, "name")
            token = page.get("nextPageToken") or ""
            if not token:
                return None

    def fetch_status(self, batch: str) -> Exchange[BatchStatus]:
        """The batch's status; for small batches with the results."""
        body = (yield Errand(path=f"/v1beta/{batch}", most=MAX_RESULTS)).body
        found = parse_object(body)
        metadata = found.get("metadata") or {}
        status = str(metadata.get("state", "")).removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        stats = metadata.get("batchStats")
        output = found.get("response") or metadata.get("output") or {}
        place = output.get("responsesFile")
        inlined = (output.get("inlinedResponses") or {}).get("inlinedResponses")
        return BatchStatus(
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

    def results(self, standing: BatchStatus, dialect: Dialect) -> Exchange[Iterable[RequestResult]]:
        """The results that came with the status, or those in the file."""
        if standing.inline is not None:
            return _parse_results(
                msgspec.json.decode(standing.inline, type=list[_GeminiResultLine]), dialect
            )
        if not standing.places:
            return ()
        path = f"/download/v1beta/{standing.places[0]}:download?alt=media"
        got = yield Errand(path=path, most=MAX_RESULTS)
        return _parse_results(lines_in(got.body, _GeminiResultLine), dialect)

    def cancel(self, batch: str) -> Exchange[None]:
        """Cancel the batch."""
        yield Errand(path=f"/v1beta/{batch}:cancel", method="POST", body=b"{}")


def _upload_requests(sent: Submission) -> Exchange[str]:
    """Upload the requests as a file of JSON lines; returns the file's name."""
    lines = []
    for name, each in zip(sent.ids, sent.requests, strict=True):
        lines.append(msgspec.json.encode({"key": name, "request": Raw(each.body)}))
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
    return text_in(parse_object(done.body).get("file") or {}, "name")


def _parse_results(lines: Iterable[_GeminiResultLine], dialect: Dialect) -> Iterator[RequestResult]:
    for line in lines:
        name = line.key or str(line.metadata.get("key", ""))
        if bytes(line.response) != bytes(NOTHING):
            yield RequestResult(id=name, body=bytes(line.response))
            continue
        # The refusal is a ``google.rpc.Status``, whose code is a gRPC code.
        refusal = msgspec.json.decode(line.error)
        status = 0
        match refusal:
            case {"code": int(code)}:
                status = code if code >= _FIRST_STATUS else _HTTP.get(code, 500)
                refusal = {**refusal, "code": status}
            case _:
                pass
        error = dialect.error(status, {}, msgspec.json.encode({"error": refusal}))
        yield RequestResult(id=name, error=error)


def _problem(status: str, error: Any) -> VendorError | None:
    """Why some requests have no result."""
    match status:
        case "EXPIRED":
            return expired_error()
        case "CANCELLED":
            return cancelled_error()
        case "FAILED":
            words = error.get("message") if isinstance(error, dict) else None
            return missing_result_error("server", "failed", words or "the batch failed without a word")
        case _:
            return None

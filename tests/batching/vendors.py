"""Batch APIs on loopback that behave as their vendors document: states, files, partial errors."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Vendor:
    """A vendor that works on a batch while nobody looks: ``looks`` looks until it is over."""

    def __init__(self, *, looks: int = 1) -> None:
        self.url = ""
        self.looks = looks
        self.batches: dict[str, dict] = {}
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.ends = "completed"
        """How batches end: completed, expired, cancelled, failed."""
        self.drop_after_create = False
        """Make a batch, and hang up before its id is told."""
        self.hang_after_create: asyncio.Event | None = None
        """Make a batch, say so here, and never answer."""

    def say(self, prompt: str) -> str:
        return f"re: {prompt}"

    def work(self, batch: dict) -> None:
        batch["looks"] += 1

    def is_over(self, batch: dict) -> bool:
        return batch["looks"] > self.looks or batch.get("cancelled", False)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                method, target, _ = first.split()
                self.requests.append((method, target, headers, body))
                before = len(self.batches)
                status, more, answer = self.answer(method, target, headers, body)
                if len(self.batches) > before:
                    if self.hang_after_create is not None:
                        self.hang_after_create.set()
                        await asyncio.sleep(3600)
                    if self.drop_after_create:
                        return
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                extra = "".join(f"{name}: {value}\r\n" for name, value in more.items())
                told = f"HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\n{extra}"
                writer.write(f"{told}content-length: {len(data)}\r\n\r\n".encode() + data)
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, method: str, target: str, headers: dict, body: bytes) -> tuple[int, dict, object]:
        raise NotImplementedError


def jsonl(*lines: object) -> bytes:
    return b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"


class OpenAI(Vendor):
    def __init__(self, **options: int) -> None:
        super().__init__(**options)
        self.files: dict[str, bytes] = {}

    def answer(self, method, target, headers, body):
        assert headers["authorization"] == "Bearer key"
        match method, urlsplit(target).path.split("/")[1:]:
            case "POST", ["files"]:
                boundary = headers["content-type"].partition("boundary=")[2].encode()
                _, purpose, file, _ = body.split(b"--" + boundary)
                assert b'name="purpose"\r\n\r\nbatch\r\n' in purpose
                name = f"file-{len(self.files)}"
                self.files[name] = file.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
                return 200, {}, {"id": name, "object": "file"}
            case "POST", ["batches"]:
                given = json.loads(body)
                name = f"batch_{len(self.batches)}"
                self.batches[name] = {"looks": 0, **given}
                return 200, {}, self._shown(name)
            case "GET", ["batches"]:
                shown = [self._shown(name) for name in reversed(self.batches)]
                return 200, {}, {"object": "list", "data": shown, "has_more": False}
            case "GET", ["batches", name]:
                self.work(self.batches[name])
                return 200, {}, self._shown(name)
            case "POST", ["batches", name, "cancel"]:
                self.batches[name]["cancelled"] = True
                return 200, {}, self._shown(name)
            case "GET", ["files", name, "content"]:
                return 200, {}, self.files[name]
        return 404, {}, {"error": {"message": f"no {target}"}}

    def _shown(self, name: str) -> dict:
        batch = self.batches[name]
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        shown = {
            "id": name,
            "object": "batch",
            "metadata": batch["metadata"],
            "created_at": 4_000_000_000,
            "status": "in_progress",
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            "output_file_id": None,
            "error_file_id": None,
        }
        if not self.is_over(batch):
            return shown
        shown["status"] = "cancelled" if batch.get("cancelled") else self.ends
        if shown["status"] == "failed":
            told = {
                "code": "invalid_json_line",
                "line": 2,
                "message": "This line is not JSON.",
                "param": None,
            }
            return {**shown, "errors": {"object": "list", "data": [told]}}
        good, bad = [], []
        for at, line in enumerate(lines):
            assert (line["method"], line["url"]) == ("POST", batch["endpoint"])
            prompt = prompt_in(line["body"])
            if shown["status"] != "completed" and at:
                if shown["status"] == "expired":
                    error = {"code": "batch_expired", "message": "This request could not be executed."}
                    bad.append({"custom_id": line["custom_id"], "response": None, "error": error})
            elif prompt == "bad":
                refused = {"error": {"message": "no such thing", "type": "invalid_request_error"}}
                response = {"status_code": 400, "request_id": "r", "body": refused}
                bad.append({"custom_id": line["custom_id"], "response": response, "error": None})
            else:
                reply = self.reply(batch["endpoint"], prompt)
                response = {"status_code": 200, "request_id": "r", "body": reply}
                # The order of the lines is not that of the requests.
                good.insert(0, {"custom_id": line["custom_id"], "response": response, "error": None})
        self.files[f"{name}-out"], self.files[f"{name}-bad"] = jsonl(*good), jsonl(*bad)
        counts = {"total": len(lines), "completed": len(good), "failed": len(bad)}
        places = {"output_file_id": f"{name}-out", "error_file_id": f"{name}-bad"}
        return {**shown, **places, "request_counts": counts}

    def reply(self, endpoint: str, prompt: str) -> dict:
        text = self.say(prompt)
        if endpoint == "/v1/responses":
            part = {"type": "output_text", "text": text, "annotations": []}
            item = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
            usage = {"input_tokens": 10, "output_tokens": 5}
            return {"id": "resp", "status": "completed", "output": [item], "usage": usage, "model": "m"}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return {
            "id": "c",
            "object": "chat.completion",
            "choices": [choice],
            "usage": usage,
            "model": "m",
        }


class Anthropic(Vendor):
    def answer(self, method, target, headers, body):
        assert headers["x-api-key"] == "key"
        assert headers["anthropic-version"]
        match method, urlsplit(target).path.removeprefix("/v1/messages/batches").split("/")[1:]:
            case "POST", []:
                name = f"msgbatch_{len(self.batches)}"
                self.batches[name] = {"looks": 0, "requests": json.loads(body)["requests"]}
                return 200, {}, self._shown(name)
            case "GET", []:
                shown = [self._shown(name) for name in reversed(self.batches)]
                return 200, {}, {"data": shown, "has_more": False}
            case "GET", [name]:
                self.work(self.batches[name])
                return 200, {}, self._shown(name)
            case "POST", [name, "cancel"]:
                self.batches[name]["cancelled"] = True
                return 200, {}, self._shown(name)
            case "GET", [name, "results"]:
                return 200, {}, jsonl(*self._results(self.batches[name]))
        return 404, {}, {"type": "error", "error": {"type": "not_found_error", "message": target}}

    def _shown(self, name: str) -> dict:
        batch = self.batches[name]
        over, count = self.is_over(batch), len(batch["requests"])
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        for line in self._results(batch) if over else ():
            counts[line["result"]["type"]] += 1
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if over else "in_progress",
            "created_at": "2100-01-01T00:00:00.123456+00:00",
            "request_counts": counts if over else {**counts, "processing": count},
            "results_url": f"{self.url}/v1/messages/batches/{name}/results" if over else None,
        }

    def _results(self, batch: dict) -> list[dict]:
        lines = []
        for at, request in enumerate(batch["requests"]):
            prompt = prompt_in(request["params"])
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", request["custom_id"])
            if (batch.get("cancelled") or self.ends == "expired") and at:
                result = {"type": "canceled" if batch.get("cancelled") else "expired"}
            elif prompt == "bad":
                error = {"type": "invalid_request_error", "message": "no such thing"}
                result = {"type": "errored", "error": {"type": "error", "error": error}}
            else:
                result = {"type": "succeeded", "message": self.message(request["params"], prompt)}
            lines.insert(0, {"custom_id": request["custom_id"], "result": result})
        return lines

    def message(self, params: dict, prompt: str) -> dict:
        content: list[dict] = [{"type": "text", "text": self.say(prompt)}]
        if params.get("tools"):
            name = params["tool_choice"]["name"]
            content = [
                {"type": "tool_use", "id": "t", "name": name, "input": json.loads(self.say(prompt))}
            ]
        return {
            "id": "msg",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": content,
            "stop_reason": "tool_use" if params.get("tools") else "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }


class Gemini(Vendor):
    def __init__(self, **options: int) -> None:
        super().__init__(**options)
        self.files: dict[str, bytes] = {}

    def answer(self, method, target, headers, body):
        assert headers["x-goog-api-key"] == "key"
        path = urlsplit(target).path
        if path.endswith(":batchGenerateContent"):
            batch = json.loads(body)["batch"]
            name = f"batches/{len(self.batches)}"
            self.batches[name] = {"looks": 0, **batch}
            return 200, {}, self._shown(name)
        if path == "/v1beta/batches":
            return 200, {}, {"operations": [self._shown(name) for name in self.batches]}
        if path.endswith(":cancel"):
            self.batches[path.removeprefix("/v1beta/").removesuffix(":cancel")]["cancelled"] = True
            return 200, {}, {}
        if path == "/upload/v1beta/files":
            assert headers["x-goog-upload-command"] == "start"
            return 200, {"x-goog-upload-url": f"{self.url}/put?upload_id=1"}, {}
        if path == "/put":
            assert headers["x-goog-upload-command"] == "upload, finalize"
            self.files["files/in"] = body
            return 200, {}, {"file": {"name": "files/in"}}
        if path.startswith("/download/v1beta/files/out:download"):
            return 200, {}, self.files["files/out"]
        name = path.removeprefix("/v1beta/")
        self.work(self.batches[name])
        return 200, {}, self._shown(name)

    def _shown(self, name: str) -> dict:
        batch = self.batches[name]
        source = batch["inputConfig"]
        is_file = "fileName" in source
        if is_file:
            given = [json.loads(line) for line in self.files[source["fileName"]].splitlines()]
        else:
            given = source["requests"]["requests"]
        over = self.is_over(batch)
        state = "BATCH_STATE_RUNNING"
        if over:
            state = f"BATCH_STATE_{'CANCELLED' if batch.get('cancelled') else ENDS[self.ends]}"
        metadata = {
            "state": state,
            "displayName": batch["displayName"],
            "batchStats": {"requestCount": str(len(given)), "successfulRequestCount": "0"},
        }
        shown = {"name": name, "metadata": metadata}
        if over and state == "BATCH_STATE_SUCCEEDED":
            lines = [self._result(each, is_file=is_file) for each in given]
            self.files["files/out"] = jsonl(*lines)
            output = {"responsesFile": "files/out"}
            if not is_file:
                output = {"inlinedResponses": {"inlinedResponses": lines}}
            shown |= {"done": True, "response": output}
        return shown

    def _result(self, given: dict, *, is_file: bool) -> dict:
        named = {"key": given["key"]} if is_file else {"metadata": given["metadata"]}
        prompt = prompt_in(given["request"])
        if prompt == "bad":
            return {**named, "error": {"code": 3, "message": "no such thing"}}
        candidate = {
            "content": {"role": "model", "parts": [{"text": self.say(prompt)}]},
            "finishReason": "STOP",
        }
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return {**named, "response": {"candidates": [candidate], "usageMetadata": usage}}


ENDS = {"completed": "SUCCEEDED", "expired": "EXPIRED", "failed": "FAILED"}


def prompt_in(body: dict) -> str:
    """What the user says in a request of any dialect."""
    said = body.get("messages") or body.get("input") or body.get("contents")
    content = said[-1].get("content") or said[-1].get("parts")
    return content if isinstance(content, str) else content[0]["text"]


@asynccontextmanager
async def open_for_business(vendor: Vendor) -> AsyncIterator[Vendor]:
    listener = await asyncio.start_server(vendor.serve, "127.0.0.1", 0, limit=2**26)
    vendor.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield vendor
    finally:
        listener.close()

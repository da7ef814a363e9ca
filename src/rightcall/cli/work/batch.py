"""Send a file of prompts through a vendor's batch API, and print each result."""

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rightcall.agent import Agent
from rightcall.batching.batches import Batch, batch
from rightcall.cli import INTERRUPTED, NO_ANSWER
from rightcall.cli.load import MAX_FILE, load_journal, read_schema
from rightcall.cli.user_config import default_model, key_for
from rightcall.errors import UsageError
from rightcall.models.connect import connect


class PromptLine(NamedTuple):
    """One line of the file: a prompt, and the id of its answer."""

    prompt: str
    id: Any = None


def run(options: Namespace) -> int:
    """Submit or continue the batch; the exit code shows whether every prompt has an answer."""
    try:
        return asyncio.run(_run(options))
    except KeyboardInterrupt:
        if options.journal:
            print("rightcall: the batch goes on; the same command takes it up again", file=sys.stderr)
        return INTERRUPTED


async def _run(options: Namespace) -> int:
    data = _read(options.file)
    name = options.model or default_model()
    lines = list(_lines(data, options.file))
    if not options.journal and not options.cancel:
        print("rightcall: without --journal the batch is lost when this ends", file=sys.stderr)
    async with connect(name, api_key=key_for(name)) as model:
        schema: Any = read_schema(options.schema) if options.schema else None
        agent: Agent[Any, Any] = Agent(
            model,
            instructions=options.instructions,
            output=schema,
            max_tokens=options.max_tokens,
            options={} if options.temperature is None else {"temperature": options.temperature},
        )
        job = batch(
            agent,
            [line.prompt for line in lines],
            # Running the same command again continues the same batch.
            run=options.run or f"batch-{sha256(name.encode() + data).hexdigest()[:16]}",
            journal=load_journal(options.journal) if options.journal else None,
            poll=options.poll,
            adopt=options.adopt,
        )
        if options.cancel:
            await job.cancel()
            print(f"rightcall: {job.run} is being cancelled", file=sys.stderr)
            return 0
        return await _watch(job, lines)


async def _watch(job: Batch[Any], lines: list[PromptLine]) -> int:
    shown = ""
    async for progress in job:
        words = f"{progress.status}: {progress.done} of {progress.total} done"
        words += f", {progress.failed} failed" if progress.failed else ""
        if words != shown:
            print(f"rightcall: {', '.join(progress.ids)} {words}", file=sys.stderr)
        shown = words
    assert job.result is not None
    for line, item in zip(lines, job.result, strict=True):
        described: dict[str, Any] = {"index": item.index}
        if line.id is not None:
            described["id"] = line.id
        if item.error is not None:
            described["error"] = {"kind": item.error.kind, "message": str(item.error)}
        else:
            assert item.result is not None
            described |= {"text": item.text, "stop": item.result.stop.reason}
            if item.result.value is not msgspec.UNSET:
                described["output"] = msgspec.to_builtins(item.result.value)
            described["usage"] = msgspec.to_builtins(item.usage)
        print(json.dumps(described, ensure_ascii=False))
    if job.result.failed:
        return NO_ANSWER
    return 0


def _read(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        if Path(path).stat().st_size > MAX_FILE:
            raise UsageError(f"{path} is larger than {MAX_FILE:,} bytes")
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _lines(data: bytes, path: str) -> Iterator[PromptLine]:
    for number, text in enumerate(data.splitlines(), start=1):
        if not text.strip():
            continue
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise UsageError(f"{path}, line {number}: not JSON: {error}") from error
        if isinstance(value, dict):
            prompt = value.get("prompt")
        else:
            prompt = value
        if not isinstance(prompt, str):
            raise UsageError(
                f'{path}, line {number}: write a text in quotes, or {{"prompt": "…", "id": …}}'
            )
        yield PromptLine(prompt, value.get("id") if isinstance(value, dict) else None)

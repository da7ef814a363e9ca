"""A run as a file: JSON, Markdown, the record itself, a test, or a case of an eval."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.core.entry import CallFinished, ReplyReceived
from rightcall.core.history import mend
from rightcall.core.message import Message, User
from rightcall.core.parts import Call, Media
from rightcall.core.sanitize import encodable, encodable_json
from rightcall.errors import UsageError
from rightcall.record.transcript_markdown import markdown_lines
from rightcall.serve.studio.run_view import RunView
from rightcall.serve.studio.to_json import Json, arguments_json
from rightcall.wire.history import to_messages

_TEST = '''"""Run {run}, as it was recorded: the same replies lead to the same calls and the same answer.

The tools here give what was recorded. Put your own in their place to see whether they still fit.
"""

import msgspec

import rightcall as rc
from rightcall.testing import ScriptedModel

PROMPT = {prompt}
INSTRUCTIONS = {system}
REPLIES = msgspec.json.decode({replies}, type=list[rc.Reply])
SPECS = msgspec.json.decode({specs})
RESULTS = msgspec.json.decode({results})
CALLS = {calls}
ANSWER = {answer}


def recorded(spec):
    """A tool that gives what it gave, call by call."""
    left = [each for each in RESULTS if each["name"] == spec["name"]]

    def give(**_):
        given = left.pop(0)
        if given["is_error"]:
            raise rc.ToolFailure(given["text"])
        return given["text"]

    about = (spec["name"], spec["description"], spec["parameters"])
    return rc.Tool(*about, give, effect="read", serial=True)


async def test_the_run_goes_as_it_was_recorded():
    model = ScriptedModel(REPLIES)
    agent = rc.Agent(model, tools=[recorded(spec) for spec in SPECS], instructions=INSTRUCTIONS)
    result = await agent.run(PROMPT)
    model.assert_finished()
    assert [call.name for call in result.calls] == CALLS
    assert result.text == ANSWER
'''


class Exported(Struct, frozen=True):
    """A file."""

    name: str
    media_type: str
    text: str


def export(reading: RunView, row: Json, form: str) -> Exported:
    """The run in a form: json, markdown, jsonl, test or case."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", reading.run).strip("-")[:60] or "run"
    match form:
        case "json":
            whole = {**row, "messages": msgspec.to_builtins(transcript_of(reading))}
            text = json.dumps(encodable_json(whole), indent=2, ensure_ascii=False)
            return Exported(f"{stem}.json", "application/json", text)
        case "markdown":
            return Exported(f"{stem}.md", "text/markdown", "\n".join(_markdown_document(reading, row)))
        case "jsonl":
            lines = ""
            for entry, at in reading.written:
                plain = msgspec.to_builtins(entry)
                lines += _compact({"run": reading.run, "at": at, "entry": plain}) + "\n"
            return Exported(f"{stem}.jsonl", "application/jsonl", lines)
        case "test":
            return Exported(f"test_{stem.replace('-', '_')}.py", "text/x-python", _test(reading))
        case "case":
            return Exported(f"{stem}.case.jsonl", "application/jsonl", _case(reading))
        case _:
            raise UsageError(f"no export as {form!r}; there is json, markdown, jsonl, test, case")


def transcript_of(reading: RunView) -> tuple[Message, ...]:
    """The transcript, with a result for every call, even if the record breaks off."""
    if reading.retraced is None:
        return reading.start.messages if reading.start else ()
    return mend(reading.retraced.result.transcript).messages


def _markdown_document(reading: RunView, row: Json) -> Iterator[str]:
    yield f"# {' '.join(row['prompt'].split())[:60] or reading.run}\n"
    usage = row["usage"]
    cost = "" if usage["cost"] is None else f", ${usage['cost']:.4f}"
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out{cost}"
    yield f"Run `{reading.run}`, {row['model']}: {row['stop']}, {tokens}.\n"
    yield from markdown_lines(transcript_of(reading))


def _test(reading: RunView) -> str:
    start, question = _start_and_question(reading)
    replies = []
    ends: dict[str, CallFinished] = {}
    for entry in reading.entries:
        if isinstance(entry, CallFinished):
            ends[entry.key] = entry
        elif isinstance(entry, ReplyReceived):
            replies.append(entry.reply)
            if any(isinstance(part, Media) for part in entry.reply.content):
                raise UsageError(
                    "a test cannot hold what this run's model drew or said: export it as JSON"
                )
    calls = []
    results = []
    for turn, reply in enumerate(replies, 1):
        for index, call in enumerate(reply.calls):
            calls.append(encodable(call.name))
            end = ends.get(f"t{turn}.{index}.{call.name}")
            if end is not None and end.attempts:
                result = end.result
                results.append({"name": result.name, "text": result.text, "is_error": result.is_error})
    specs = []
    for spec in start.specs:
        specs.append({"name": spec.name, "description": spec.description, "parameters": spec.parameters})
    # A run's name may be anything, and this is a program: no quotation mark in it may end our string.
    return _TEST.format(
        run=re.sub(r"[^\w .:/-]", "?", reading.run)[:100],
        prompt=_literal(question),
        system=_literal(start.system),
        replies=ascii(_compact(msgspec.to_builtins(replies))),
        specs=ascii(_compact(specs)),
        results=ascii(_compact(results)),
        calls=ascii(calls),
        answer=_literal(replies[-1].text if replies else ""),
    )


def _case(reading: RunView) -> str:
    start, question = _start_and_question(reading)
    calls: tuple[Call, ...] = ()
    for entry in reading.entries:
        if isinstance(entry, ReplyReceived):
            calls = entry.reply.calls
            break
    case: Json = {"id": reading.run, "question": question}
    if not calls:
        case["tool"] = None
    else:
        case["calls"] = []
        for call in calls:
            expected: Json = {"tool": call.name}
            arguments = arguments_json(call)
            if arguments is not None:
                expected["arguments"] = arguments
            case["calls"].append(expected)
    if start.system:
        case["system"] = start.system
    if len(start.messages) > 1:
        case["history"] = to_messages(start.messages[:-1], "openai_chat")
    return _compact(case) + "\n"


def _start_and_question(reading: RunView) -> tuple[Any, str]:
    start = reading.start
    if start is None or not start.messages or not isinstance(start.messages[-1], User):
        raise UsageError("this run was not begun by a question, so that it makes no test")
    return start, start.messages[-1].text


def _literal(text: str) -> str:
    return ascii(encodable(text))


def _compact(value: object) -> str:
    return json.dumps(encodable_json(value), separators=(",", ":"))

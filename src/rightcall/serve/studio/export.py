"""A run as a file: JSON, Markdown, the record itself, a test, or a case of an eval."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.core.call import Call
from rightcall.core.entry import CallFinished, ReplyReceived
from rightcall.core.history import mend
from rightcall.core.message import Message, Reply, User
from rightcall.core.parts import Media
from rightcall.core.sanitize import encodable, encodable_json
from rightcall.errors import UsageError
from rightcall.record.markdown import markdown_lines
from rightcall.serve.studio.reading import Reading
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


def export(reading: Reading, row: Json, form: str) -> Exported:
    """The run in a form: json, markdown, jsonl, test or case."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", reading.run).strip("-")[:60] or "run"
    match form:
        case "json":
            told = {**row, "messages": msgspec.to_builtins(transcript_of(reading))}
            return Exported(f"{stem}.json", "application/json", _pretty(told))
        case "markdown":
            return Exported(f"{stem}.md", "text/markdown", "\n".join(_markdown(reading, row)))
        case "jsonl":
            return Exported(f"{stem}.jsonl", "application/jsonl", "".join(_lines(reading)))
        case "test":
            return Exported(f"test_{stem.replace('-', '_')}.py", "text/x-python", _test(reading))
        case "case":
            return Exported(f"{stem}.case.jsonl", "application/jsonl", _case(reading))
        case _:
            raise UsageError(f"no export as {form!r}; there is json, markdown, jsonl, test, case")


def transcript_of(reading: Reading) -> tuple[Message, ...]:
    """The transcript, with a result for every call, even if the record breaks off."""
    if reading.retraced is None:
        return reading.start.messages if reading.start else ()
    return mend(reading.retraced.result.transcript).messages


def _markdown(reading: Reading, row: Json) -> Iterator[str]:
    yield f"# {' '.join(row['prompt'].split())[:60] or reading.run}\n"
    usage = row["usage"]
    cost = "" if usage["cost"] is None else f", ${usage['cost']:.4f}"
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out{cost}"
    yield f"Run `{reading.run}`, {row['model']}: {row['stop']}, {tokens}.\n"
    yield from markdown_lines(transcript_of(reading))


def _lines(reading: Reading) -> Iterator[str]:
    for entry, at in reading.written:
        told = {"run": reading.run, "at": at, "entry": encodable_json(msgspec.to_builtins(entry))}
        yield json.dumps(told, separators=(",", ":")) + "\n"


def _test(reading: Reading) -> str:
    start, question = _asked(reading)
    replies = [e.reply for e in reading.entries if isinstance(e, ReplyReceived)]
    if any(isinstance(part, Media) for reply in replies for part in reply.content):
        raise UsageError("a test cannot hold what this run's model drew or said: export it as JSON")
    ends = {e.key: e for e in reading.entries if isinstance(e, CallFinished)}
    results = [
        {"name": e.result.name, "text": e.result.text, "is_error": e.result.is_error}
        for e in _in_order(replies, ends)
        if e.attempts
    ]
    # A run's name may be anything, and this is a program: no quotation mark in it may end our string.
    return _TEST.format(
        run=re.sub(r"[^\w .:/-]", "?", reading.run)[:100],
        prompt=_literal(question),
        system=_literal(start.system),
        replies=ascii(_compact(msgspec.to_builtins(replies))),
        specs=ascii(_compact([_spec(each) for each in start.specs])),
        results=ascii(_compact(results)),
        calls=ascii([encodable(call.name) for reply in replies for call in reply.calls]),
        answer=_literal(replies[-1].text if replies else ""),
    )


def _in_order(replies: Sequence[Reply], ends: dict[str, CallFinished]) -> Iterator[CallFinished]:
    for turn, reply in enumerate(replies, 1):
        for index, call in enumerate(reply.calls):
            if (end := ends.get(f"t{turn}.{index}.{call.name}")) is not None:
                yield end


def _spec(spec: Any) -> Json:
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def _case(reading: Reading) -> str:
    start, question = _asked(reading)
    first = next((e.reply for e in reading.entries if isinstance(e, ReplyReceived)), None)
    calls = first.calls if first is not None else ()
    told: Json = {"id": reading.run, "question": question}
    told |= {"calls": [_expected(call) for call in calls]} if calls else {"tool": None}
    if start.system:
        told["system"] = start.system
    if len(start.messages) > 1:
        told["history"] = to_messages(start.messages[:-1], "openai_chat")
    return _compact(told) + "\n"


def _expected(call: Call) -> Json:
    arguments = arguments_json(call)
    return {"tool": call.name} if arguments is None else {"tool": call.name, "arguments": arguments}


def _asked(reading: Reading) -> tuple[Any, str]:
    start = reading.start
    if start is None or not start.messages or not isinstance(start.messages[-1], User):
        raise UsageError("this run was not begun by a question, so that it makes no test")
    return start, start.messages[-1].text


def _literal(text: str) -> str:
    return ascii(encodable(text))


def _pretty(value: object) -> str:
    return json.dumps(encodable_json(value), indent=2, ensure_ascii=False)


def _compact(value: object) -> str:
    return json.dumps(encodable_json(value), separators=(",", ":"))

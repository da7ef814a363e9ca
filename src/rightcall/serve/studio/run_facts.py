"""A run's entries, one after the other, into the facts for lists and searches.

A run is never read whole for this: the facts so far and the next entry give the new facts. Nothing here
does I/O.
"""

import json
from collections.abc import Mapping
from hashlib import sha256

import msgspec
from msgspec import Struct, field

from rightcall.core.entry import (
    MODEL_NOTE,
    CallFinished,
    Entry,
    Nested,
    ReplyReceived,
    RunEnded,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
    StepDone,
    ToolsChanged,
)
from rightcall.core.message import Reply, User
from rightcall.core.parts import Usage
from rightcall.core.tokens import text_tokens
from rightcall.core.tool import Spec
from rightcall.record.redact import redact_text

MOST_SHOWN = 300
"""Characters of the prompt and of the answer that a list shows."""
_MOST_TEXT = 16 * 1024
"""Characters of one text that are searchable."""
_GOOD = ("returned", "dry_run")


class MadeCall(Struct):
    """A call of a run, as far as it is known."""

    key: str
    tool: str = ""
    outcome: str | None = None
    seconds: float = 0.0
    tokens_in: int = 0
    """Of the arguments that the model wrote."""
    tokens_out: int = 0
    """Of the result that it read."""
    at: float = 0.0
    arguments: str = ""


class RunFacts(Struct):
    """The facts of a run for lists."""

    run: str
    id: int = 0
    hold: str = ""
    """The name of the run's lock."""
    at: float = 0.0
    last_at: float = 0.0
    agent: str = ""
    model: str = ""
    prompt: str = ""
    answer: str = ""
    state: str = "open"
    """open, paused, decided, ended or failed; the lock tells whether an open run is still under way."""
    stop: str = ""
    """The stop reason of a run that has ended."""
    words: str = ""
    """The full text of how it stopped."""
    turns: int = 0
    calls: int = 0
    bad_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_written_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    entries: int = 0
    parent: str | None = None
    pending: int = 0
    tainted: bool = False
    last_place: int = 0
    """The place of its last indexed entry, if entries have one: everything up to there is indexed."""
    is_noted: bool = False
    """Whether the model's name was noted in the record, which takes precedence over the vendor's."""


class News(Struct):
    """What entries contain besides: texts to search, calls to count, tools to show."""

    texts: list[str] = field(default_factory=list)
    calls: dict[str, MadeCall] = field(default_factory=dict)
    specs: dict[str, Spec] = field(default_factory=dict)


def new_facts(run: str) -> RunFacts:
    """A run of which nothing is known yet."""
    name = sha256(run.encode(errors="surrogatepass")).hexdigest()[:32]
    return RunFacts(run=run, hold=name)


def fold(facts: RunFacts, news: News, entry: Entry, at: float) -> None:
    """Add the next entry of a run."""
    facts.at = facts.at or at
    facts.last_at = max(facts.last_at, at)
    facts.entries += 1
    inside, path = entry, ""
    while isinstance(inside, Nested):
        path, inside = f"{path}{inside.path}/", inside.entry
    _collect(news, inside, path, at)
    if not path:
        _fold(facts, inside)
    elif isinstance(inside, CallFinished) and inside.result.source is not None:
        facts.tainted = True


def _fold(facts: RunFacts, entry: Entry) -> None:
    match entry:
        case RunStarted():
            asked = [each.text for each in entry.messages if isinstance(each, User)]
            facts.prompt = _short(asked[-1]) if asked else ""
            facts.parent, facts.agent = entry.parent, entry.agent
            facts.state = "open"
        case ReplyReceived(reply=reply):
            _fold_reply(facts, reply)
            facts.seconds += entry.seconds
            facts.state = "open"
        case CallFinished(result=result, usage=usage):
            facts.calls += 1
            facts.bad_calls += result.outcome not in _GOOD
            facts.tainted = facts.tainted or result.source is not None
            facts.seconds += entry.seconds
            facts.state = "open"
            if usage is not None:
                _spend(facts, usage)
        case StepDone(key=key, value=value) if key == MODEL_NOTE:
            facts.model, facts.is_noted = value, True
        case RunPaused(call_ids=call_ids):
            facts.state, facts.pending = "paused", len(call_ids)
        case RunResumed():
            # An end is final: a journal may record a resume after it.
            facts.state, facts.pending = "ended" if facts.state == "ended" else "decided", 0
        case RunEnded(stop=stop):
            facts.state, facts.stop, facts.words = "ended", stop.reason, str(stop)
        case RunFailed(code=code, message=message):
            facts.state, facts.stop, facts.words = "failed", "failed", f"{code}: {message}"[:MOST_SHOWN]
        case _:
            facts.state = "open" if facts.state != "paused" else facts.state


def _fold_reply(facts: RunFacts, reply: Reply) -> None:
    facts.turns += 1
    if (name := reply.answered_by or reply.model) and not facts.is_noted:
        facts.model = name
    if text := reply.text:
        facts.answer = _short(text)
    facts.tainted = facts.tainted or bool(reply.tainted)
    _spend(facts, reply.usage)


def _spend(facts: RunFacts, usage: Usage) -> None:
    facts.input_tokens += usage.input_tokens
    facts.output_tokens += usage.output_tokens
    facts.cached_tokens += usage.cached_tokens
    facts.cache_written_tokens += usage.cache_written_tokens
    facts.reasoning_tokens += usage.reasoning_tokens
    if usage.cost is not None:
        facts.cost = (facts.cost or 0.0) + usage.cost


def _collect(news: News, entry: Entry, path: str, at: float) -> None:
    """Collect the texts, calls and tools of an entry, including those of inner runs."""
    match entry:
        case RunStarted(messages=messages, specs=specs):
            news.texts += [_text(each.text) for each in messages if isinstance(each, User)]
            news.specs |= {spec.name: spec for spec in specs}
        case ToolsChanged(specs=specs):
            news.specs |= {spec.name: spec for spec in specs}
        case ReplyReceived(key=key, reply=reply):
            news.texts += [_text(reply.text)] if reply.text else []
            for index, call in enumerate(reply.calls):
                place = f"{path}{key.removesuffix('.model')}.{index}.{call.name}"
                made = news.calls.setdefault(place, MadeCall(place))
                made.tool, made.at = call.name, at
                made.arguments = _text(call.arguments)[:MOST_SHOWN]
                made.tokens_in = text_tokens(call.arguments)
                news.texts.append(_text(f"{call.name} {call.arguments}"))
        case CallFinished(key=key, result=result):
            made = news.calls.setdefault(f"{path}{key}", MadeCall(f"{path}{key}"))
            made.tool, made.outcome, made.seconds = result.name, result.outcome, entry.seconds
            made.tokens_out, made.at = text_tokens(result.text), at
            news.texts.append(_text(result.text))
        case _:
            pass


def _short(text: str) -> str:
    return redact_text(text[: 4 * MOST_SHOWN])[:MOST_SHOWN]


def _text(text: str) -> str:
    return redact_text(text[:_MOST_TEXT])


def usage_of(facts: RunFacts) -> Mapping[str, int | float | None]:
    """The usage of a run, as the API sends it."""
    names = ("input_tokens", "output_tokens", "cached_tokens", "cache_written_tokens")
    return {name: getattr(facts, name) for name in (*names, "reasoning_tokens", "cost")}


def spec_text(spec: Spec) -> str:
    """A tool's spec as JSON, for the index."""
    return json.dumps(msgspec.to_builtins(spec))

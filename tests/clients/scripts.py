"""What the scripted vendor says besides the small task."""

import json
import re
from collections.abc import Mapping

from clients.task import Task
from clients.upstream.exchange import Asked, Call, Fault, Reply, Script

WEATHER = {"city": "Reykjavík", "celsius": 21}
WORDS = "the vendor's own words"


def refused(asked: Asked) -> Fault:
    """The status that the prompt names; the gateway, too, has to wait after a 429."""
    (status,) = re.findall(r"Refuse this with (\d+)", asked.text)
    return Fault(int(status), WORDS, headers={"retry-after": "1"} if status == "429" else {})


def structured(asked: Asked) -> Reply:
    """The answer that the schema wants, also where a tool has that schema, for who was told of it."""
    for tool in asked.tools:
        if set(tool.schema["properties"]) == set(WEATHER):
            return Reply(calls=(Call(tool, WEATHER),))
    if asked.schema is None or set(asked.schema["properties"]) != set(WEATHER):
        return Reply(f"I was not told what the answer must look like: {asked.schema}")
    return Reply(json.dumps(WEATHER))


OVERFLOW: Mapping[str, tuple[str, str | None]] = {
    "chat": (
        "This model's maximum context length is 128000 tokens. Your messages resulted in 130000 tokens.",
        "context_length_exceeded",
    ),
    "responses": (
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "context_length_exceeded",
    ),
    "messages": ("prompt is too long: 210000 tokens > 200000 maximum", None),
    "gemini": (
        "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        None,
    ),
}
"""How each vendor says that a conversation is too long."""


def overflow(dialect: str) -> Fault:
    message, code = OVERFLOW[dialect]
    return Fault(400, message, code)


SUMMARISE = re.compile("summar", re.IGNORECASE)


class Overflowing:
    """The task by a vendor whose context is full once a result has come, and until it is compacted."""

    def __init__(self, task: Task, dialect: str) -> None:
        self._task = task
        self._answers = [
            Reply("The file was written; the command is still to be run."),
            overflow(dialect),
        ]
        self.compacts = False
        """Whether the client asked for a summary next."""

    def __call__(self, asked: Asked) -> Reply | Fault:
        if len(self._answers) == 2 and not (asked.tools and asked.results):
            return self._task(asked)
        if not self._answers:
            return self._task.go_on(asked)
        if len(self._answers) == 1:
            self.compacts = bool(SUMMARISE.search(asked.text))
        return self._answers.pop()


def first(said: Reply | Fault, then: Script) -> Script:
    """Something else to the first request that offers tools, and then what the script says."""
    waiting = [said]

    def script(asked: Asked) -> Reply | Fault:
        return waiting.pop() if waiting and asked.tools else then(asked)

    return script

"""What libraries do when things go wrong, as the table in docs/coming-from/index.md tells it."""

import json
import os
import subprocess
import sys

import pytest

from clients.upstream.exchange import Asked, Call, Offered, Reply
from clients.upstream.server import Upstream
from coming_from.habits.told import PROMPTS
from coming_from.peers import command
from coming_from.shop import environment, vendor
from coming_from.test_pages import HERE

NAMES = {prompt: name for name, prompt in PROMPTS.items()}


def wayward(asked: Asked) -> Reply:
    """A model that calls as the prompt says, and then answers."""
    tool = asked.tools[0]
    match NAMES[asked.text.strip()], len(asked.results):
        case ("bad" | "bad twice" | "limit", 0) | ("bad twice", 1):
            return Reply(calls=(Call(tool, {"number": "seventeen"}),))
        case "unknown", 0:
            return Reply(calls=(Call(Offered("lose_order"), {"number": 17}),))
        case "raises", 0:
            return Reply(calls=(Call(tool, {"number": 17}),))
    return Reply("done")


def read(upstream: Upstream) -> dict[str, str]:
    """What the model was told of its last call, for each prompt."""
    asked = [each.asked for each in upstream.exchanges if each.asked and each.asked.results]
    return {NAMES[each.text.strip()]: each.results[-1] for each in asked}


PYDANTIC = "Input should be a valid integer"
FIXED = "An error occurred while running the tool. Please try again."
HABITS: dict[str, dict[str, tuple[str, str | None]]] = {
    "pydantic-ai": {
        "bad": ("done", PYDANTIC),
        "bad twice": ("raises UnexpectedModelBehavior", PYDANTIC),
        "unknown": ("done", "Unknown tool name: 'lose_order'"),
        "raises": ("raises ValueError", None),
        "limit": ("raises UsageLimitExceeded", None),
    },
    "openai-agents": {
        "bad": ("done", FIXED),
        "bad twice": ("done", FIXED),
        "unknown": ("raises ModelBehaviorError", None),
        "raises": ("done", FIXED),
        "limit": ("raises MaxTurnsExceeded", None),
    },
    "langchain": {
        "bad": ("done", PYDANTIC),
        "bad twice": ("done", PYDANTIC),
        "unknown": ("done", "lose_order is not a valid tool"),
        "raises": ("raises ValueError", None),
        "limit": ("Model call limits exceeded: run limit (1/1)", None),
    },
    "anthropic": {
        "bad": ("text", "ValueError('Invalid arguments for function find_order')"),
        "bad twice": ("text", "ValueError('Invalid arguments for function find_order')"),
        "unknown": ("text", "Tool 'lose_order' not found"),
        "raises": ("text", "ValueError('no order 17 in shop.example')"),
        "limit": ("tool_use", None),
    },
    "google-genai": {
        "bad": ("text", "argument value seventeen is not compatible"),
        "bad twice": ("text", "argument value seventeen is not compatible"),
        "unknown": ("raises KeyError", None),
        "raises": ("text", "because of error no order 17 in shop.example"),
        "limit": ("tool_use", None),
    },
    "rightcall": {
        "bad": ("done", "- $.number: must be an integer, not a string"),
        "bad twice": ("done", "- $.number: must be an integer, not a string"),
        "unknown": ("done", 'There is no tool "lose_order".'),
        "raises": ("done", "no order 17 in shop.example"),
        "limit": ("limit", None),
    },
}
"""For each prompt: the answer, or what was raised; and words that the model was told, if any."""


def observed(peer: str, upstream: Upstream, folder: str) -> dict[str, str]:
    """What a library's program says came of each prompt."""
    python = sys.executable if peer == "rightcall" else command(peer)
    done = subprocess.run(
        [python, str(HERE / "habits" / f"with_{peer.replace('-', '_')}.py")],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": folder, **environment(upstream)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers: dict[str, str] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("peer", HABITS)
def test_a_library_does_what_the_table_says_when_things_go_wrong(peer, tmp_path):
    with vendor() as upstream:
        upstream.begin(wayward)
        answers = observed(peer, upstream, str(tmp_path))
        told = read(upstream)
    for name, (answer, words) in HABITS[peer].items():
        assert answers[name] == answer, name
        assert words in told[name] if words else name not in told, name

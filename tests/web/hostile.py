"""Runs in which everything that can hold text holds an attack."""

from typing import Any

import rightcall as rc
from rightcall.core.message import Reasoning
from rightcall.testing import ScriptedModel, call, reply

ATTACK = (
    "<script>window.hacked='script'</script>"
    "<img src=x onerror=\"window.hacked='img'\"><svg onload=\"window.hacked='svg'\"></svg>"
    "<iframe srcdoc=\"<script>parent.hacked='frame'</script>\"></iframe>"
    "<a href=\"javascript:window.hacked='link'\">APPROVED BY THE STUDIO</a>"
    "<style>body{display:none}</style><link rel=stylesheet href=https://evil.example/x.css>"
    "<img src=https://evil.example/pixel.png>{{7*7}}${7*7}"
    "\x1b[31mred\x1b[0m \x9b1m \x07 \u202egnp.exe\u202c \u2066isolated\u2069 \u200fmark\u200b hidden"
    " \ufeff\r\nSecond line"
)
PICTURE = b"""<svg xmlns="http://www.w3.org/2000/svg" width="9" onload="parent.hacked='picture'">
<script>parent.hacked = 'picture'</script><image href="https://evil.example/pixel.png"/></svg>"""
DIRECTING = "\x1b\x9b\x07\u202e\u202c\u2066\u2069\u200f\u200b\ufeff"
RUN = f"run {ATTACK}".replace("\r\n", " ")


@rc.tool(effect="read", description=f"Reads a page. {ATTACK}")
async def read_page(address: str) -> list[object]:
    return [ATTACK, rc.file(PICTURE, media_type="image/svg+xml", name=ATTACK)]


@rc.tool
async def fail(why: str) -> str:
    """Fail with an exception."""
    raise RuntimeError(ATTACK)


@rc.tool(approval=True, description=f"Sends something. {ATTACK}")
async def send_out(to: str, body: str) -> str:
    return ATTACK


def said(*parts: Any) -> rc.Reply:
    return reply(Reasoning(ATTACK), ATTACK, *parts)


async def hostile_run(journal: Any) -> None:
    """Over, with a call of every kind."""
    model = ScriptedModel(
        [
            said(call("read_page", address=ATTACK), call("fail", why=ATTACK)),
            said(call(f"no_such_{ATTACK}", what=ATTACK), call("fail", ATTACK)),
            said(),
        ],
        name=f"model {ATTACK}",
    )
    agent = rc.Agent(
        model,
        [read_page, fail],
        name="outside",
        instructions=ATTACK,
        journal=journal,
        trust=rc.trust.Rules(),
    )
    await agent.run(ATTACK, run=RUN)


async def hostile_question(journal: Any) -> None:
    """Waits for a person."""
    model = ScriptedModel(
        [said(call("send_out", {"to": ATTACK, "body": ATTACK}))], name=f"model {ATTACK}"
    )
    await rc.Agent(model, [send_out], journal=journal).run(ATTACK, run=f"waiting {RUN}")

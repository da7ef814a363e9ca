"""The model behind the pages in docs/coming-from: a scripted vendor that minds a shop's orders.

It goes by what was asked last, what the client offers and what came back, as a model would. Its first
call has arguments that do not fit.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from clients.upstream.exchange import Asked, Call, Offered, Reply
from clients.upstream.server import Upstream, serving

ORDER = {"number": 17, "euros": 40.0}


def shop(asked: Asked) -> Reply:
    """What the model says next."""
    question = asked.text.strip().splitlines()[-1]
    tools = {tool.name: tool for tool in asked.tools}
    if form := _form(asked):
        return form
    # pydantic-ai calls a function that gives the answer final_result.
    hands_over = [tool for tool in asked.tools if "billing" in tool.name or not _fields(tool.schema)]
    hands_over = [tool for tool in hands_over if tool.name != "opening_hours"]
    if hands_over and not asked.results:
        return Reply(calls=(Call(hands_over[0], {}),))
    if question == "Hand it to whoever refunds.":
        return _refund(asked, tools)
    if question == "Where is order 17?":
        return _find(asked, tools)
    if question == "Refund it.":
        return _refund(asked, tools)
    if question == "Which order was it?":
        return Reply("Order 17." if "order 17" in asked.text else "I do not know.")
    if question == "Are you open?":
        return Reply("Every day but Sunday.")
    return Reply(f"I was not asked about this shop: {question}")


def _form(asked: Asked) -> Reply | None:
    """The order as data, where the answer must be that, by a schema or by a tool of that form."""
    if _fields(asked.schema) == set(ORDER):
        return Reply(json.dumps(ORDER))
    receipt = _receipt(asked)
    if _fields(asked.schema) == set(receipt):
        return Reply(json.dumps(receipt))
    for tool in asked.tools:
        if _fields(tool.schema) == set(receipt):
            return Reply(calls=(Call(tool, receipt),))
    for tool in asked.tools:
        if tool.name not in ("find_order", "refund") and _fields(tool.schema) == set(ORDER):
            return Reply(calls=(Call(tool, ORDER),))
    return None


def _receipt(asked: Asked) -> dict[str, Any]:
    """A receipt, whose first price is a misprint that a validator finds."""
    told = " ".join((asked.text, *asked.results))
    euros = 40.0 if "more than 100 euros" in told else 400.0
    return {"order": {"number": 17, "euros": euros}, "words": "Thank you."}


def _fields(schema: Mapping[str, Any] | None) -> set[str]:
    return set((schema or {}).get("properties", ()))


def _find(asked: Asked, tools: Mapping[str, Offered]) -> Reply:
    if "find_order" not in tools:
        return Reply("I cannot look.")
    if not asked.results:
        return Reply(calls=(Call(tools["find_order"], {"number": "seventeen"}),))
    if "shipped" not in asked.results[-1]:
        return Reply(calls=(Call(tools["find_order"], {"number": 17}),))
    return Reply("It was shipped on Monday.")


def _refund(asked: Asked, tools: Mapping[str, Offered]) -> Reply:
    last = asked.results[-1] if asked.results else ""
    if "refunded" in last:
        return Reply("Your 40 euros are on their way.")
    if not last or "shipped" in last or "goes on" in last:
        return Reply(calls=(Call(tools["refund"], {"number": 17, "euros": 40.0}),))
    return Reply("I may not refund it.")


@contextmanager
def vendor() -> Iterator[Upstream]:
    """The vendor, for as long as this lasts."""
    with serving() as upstream:
        upstream.begin(shop)
        yield upstream


def environment(upstream: Upstream) -> dict[str, str]:
    """What points everybody's own clients at it."""
    root = upstream.url
    return {
        "OPENAI_BASE_URL": f"{root}/v1",
        "OPENAI_API_KEY": "sk-none",
        "ANTHROPIC_BASE_URL": root,
        "ANTHROPIC_API_KEY": "sk-none",
        "GOOGLE_GEMINI_BASE_URL": root,
        "GEMINI_API_KEY": "none",
        # LiteLLM fetches its prices when it is imported, unless told not to.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }

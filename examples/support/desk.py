"""The support desk: an agent with the shop's tools."""

import os
from collections.abc import Sequence

import offline
import rightcall as rc
from mail import read_mail, send_mail
from orders import find_order
from refunds import refund

INSTRUCTIONS = """You answer the customers of a small shop, in two sentences at most.
Look an order up before you say anything about it."""


def make_desk(
    model: rc.models.Model | str | None = None,
    journal: rc.record.Journal | None = None,
    observers: Sequence["rc.observe.Observer | rc.observe.OpenTelemetry"] = (),
) -> rc.Agent:
    return rc.Agent(
        model or os.environ.get("SUPPORT_MODEL") or offline.model,
        [find_order, refund, read_mail, send_mail],
        INSTRUCTIONS,
        name="desk",
        budget=rc.Budget(turns=8, seconds=120, tokens=50_000),
        trust=rc.trust.Rules(),
        journal=journal,
        observers=observers,
    )

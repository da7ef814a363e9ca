"""Texts are read once: a conversation under rules costs its new messages, and is judged as before."""

import rightcall as rc
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Text
from rightcall.testing import ScriptedModel
from rightcall.trust.asked import described, superlatives
from rightcall.trust.words.heard import clauses_of, kept
from rightcall.trust.words.keys import single


def test_a_short_text_is_read_once_and_a_long_one_each_time():
    read = []
    reading = kept(lambda text: read.append(text) or len(text))
    assert [reading(text) for text in ("short", "short", "x" * 5000, "x" * 5000)] == [5, 5, 5000, 5000]
    assert read == ["short", "x" * 5000, "x" * 5000]


async def test_the_next_run_of_a_conversation_reads_only_what_is_new(monkeypatch):
    seen = []
    for module, name in ((described, "heard"), (superlatives, "ranks_in")):
        inner = getattr(module, name).__wrapped__
        monkeypatch.setattr(
            module, name, kept(lambda text, inner=inner: seen.append(text) or inner(text))
        )
    history = [
        message
        for number in range(5)
        for message in (user_text(f"Refund order {number}."), Reply((Text("Done."),), "end"))
    ]
    agent = rc.Agent(ScriptedModel(["One.", "Two."]), trust=rc.trust.Rules())
    result = await agent.run("And order 7?", history=history)
    seen.clear()
    await agent.run("And order 8?", history=result.transcript)
    assert set(seen) == {"And order 8?"}


def test_what_is_kept_of_a_text_is_what_is_in_it():
    found = clauses_of("Pay 40 euros to Ann. Do not write to bob@evil.example.")
    orders, bans = ([each for each in found if each.is_forbidding is is_ban] for is_ban in (False, True))
    assert {each for order in orders for each in order.amounts} == {40.0}
    assert max(order.most or 0 for order in orders) == 40.0
    assert bans
    assert single("bob@evil.example") in frozenset().union(*[ban.keys for ban in bans])
    assert single("bob@evil.example") not in frozenset().union(*[order.keys for order in orders])

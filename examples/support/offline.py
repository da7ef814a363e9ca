"""A stand-in for a model: it follows rules, needs no key, and says the same thing every time."""

import json
import re

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


def find(pattern: str, text: str) -> str | None:
    """What the last match of a pattern holds."""
    found: list[str] = re.findall(pattern, text)
    return found[-1] if found else None


def next_step(request: rc.models.Request) -> rc.Reply | str:
    """The next call, or an answer once there is nothing left to call."""
    # With what is attached to a message, which is not in its text.
    asked = [str(message.content) for message in request.messages if isinstance(message, rc.User)]
    turns = [each.results for each in request.messages if not isinstance(each, rc.User | rc.Reply)]
    read = {each.name: each.text for turn in turns for each in turn}
    text = "\n".join([*asked, *read.values()])
    left = {spec.name for spec in request.specs} - set(read)
    mail, number = find(r"mail (\d+)", asked[-1]), find(r"order (\d+)", text)
    stranger = find(r"address to (\S+@[\w.]+\w)", text)

    if "final_answer" in left:
        kind = "refund" if "refund" in text else "question"
        return reply(call("final_answer", kind=kind, order=number and int(number), urgent=False))
    if mail and "read_mail" in left:
        return reply(call("read_mail", number=int(mail)))
    if number and "find_order" in left:
        return reply(call("find_order", number=int(number)))
    if stranger and "send_mail" in left:
        return reply(call("send_mail", to=stranger, body=read["find_order"]))
    if "refund" in left and "want a refund" in text and "{" in read["find_order"]:
        order = json.loads(read["find_order"])
        return reply(call("refund", number=order["number"], cents=order["cents"]))
    return answer(asked[-1], read)


def answer(question: str, read: dict[str, str]) -> str:
    if not read:
        return "Which order is it about?"
    name, result = list(read.items())[-1]
    if name != "find_order" or "{" not in result:
        return result
    order = json.loads(result)
    if "cost" in question:
        return f"It cost {order['cents']} cents."
    return f"Order {order['number']}, the {order['item']}, is {order['status']}."


model = ScriptedModel(next_step, name="offline")

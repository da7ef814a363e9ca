"""A model that asks for the same thing for ever, and what ends it."""

import rightcall as rc
from orders import find_order
from rightcall.testing import ScriptedModel, call, reply

stuck = ScriptedModel(lambda _: reply(call("find_order", number=17)))
result = rc.Agent(stuck, [find_order]).run_sync("Where is order 17?")
print(result.stop.reason, result.stop.limit, len(result.turns))

busy = ScriptedModel(lambda request: reply(call("find_order", number=len(request.messages))))
result = rc.Agent(busy, [find_order], budget=rc.Budget(turns=3)).run_sync("Which orders are there?")
print(result.stop.reason, result.stop.limit, len(result.turns))

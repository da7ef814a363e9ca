"""A large result is stored whole: the model gets its beginning, and reads what it needs by a handle."""

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


def orders() -> list[dict[str, int]]:
    """All orders."""
    return [{"number": n, "euros": 2 * n} for n in range(5_000)]


read = call("read_result", handle="result_709020a77e939ccc73b7880e", query="4711")
model = ScriptedModel([reply(call("orders")), reply(read), "Order 4711 is 9422 euros."])
agent = rc.Agent(model, tools=[orders], large_results=rc.conversation.LargeResults())
for each in agent.run_sync("How much is order 4711?").calls:
    print(each.result.text[:260], "\n")

"""Our own."""

from told import LIMIT, find_order, main

import rightcall as rc

agent = rc.Agent("openai:gpt-5", [find_order])


def ask(prompt):
    limit = {"budget": rc.Budget(turns=1)} if prompt == LIMIT else {}
    result = agent.run_sync(prompt, **limit)
    return result.stop.reason if prompt == LIMIT else result.text


main(ask)

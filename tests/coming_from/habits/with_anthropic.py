"""The loop in Anthropic's SDK."""

from anthropic import Anthropic, beta_tool
from told import LIMIT, find_order, main

client = Anthropic()


def ask(prompt):
    limit = {"max_iterations": 1} if prompt == LIMIT else {}
    runner = client.beta.messages.tool_runner(
        model="claude-opus-4-8",
        max_tokens=100,
        tools=[beta_tool(find_order)],
        messages=[{"role": "user", "content": prompt}],
        thread=False,
        **limit,
    )
    return runner.until_done().content[0].type


main(ask)

"""OpenAI's Agents SDK."""

from agents import Agent, Runner, function_tool, set_tracing_disabled
from told import LIMIT, find_order, main

set_tracing_disabled(True)
agent = Agent("clerk", model="gpt-5", tools=[function_tool(find_order)])


def ask(prompt):
    limit = {"max_turns": 1} if prompt == LIMIT else {}
    return Runner.run_sync(agent, prompt, **limit).final_output


main(ask)

"""Pydantic AI's agent."""

from pydantic_ai import Agent, UsageLimits
from told import LIMIT, find_order, main

agent = Agent("openai:gpt-5", tools=[find_order])


def ask(prompt):
    limits = UsageLimits(request_limit=1) if prompt == LIMIT else None
    return agent.run_sync(prompt, usage_limits=limits).output


main(ask)

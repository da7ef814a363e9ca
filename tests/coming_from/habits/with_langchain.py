"""LangChain's agent."""

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from told import LIMIT, find_order, main

agent = create_agent("openai:gpt-5", [find_order])
limited = create_agent("openai:gpt-5", [find_order], middleware=[ModelCallLimitMiddleware(run_limit=1)])


def ask(prompt):
    asked = limited if prompt == LIMIT else agent
    return asked.invoke({"messages": [{"role": "user", "content": prompt}]})["messages"][-1].text


main(ask)

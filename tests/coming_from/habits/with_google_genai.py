"""The loop in Google's SDK."""

from google import genai
from told import LIMIT, find_order, main

client = genai.Client()


def ask(prompt):
    config = {"tools": [find_order]}
    if prompt == LIMIT:
        config["automatic_function_calling"] = {"maximum_remote_calls": 1}
    reply = client.models.generate_content(model="gemini-3-pro", contents=prompt, config=config)
    return "tool_use" if reply.function_calls else "text"


main(ask)

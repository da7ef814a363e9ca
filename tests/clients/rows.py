"""Every client as `make test WHAT=clients` drives it: one table, for all the tests."""

from clients.drive import Row

DIALECTS = ("chat", "responses", "messages", "gemini")
WAYS = ("direct", *DIALECTS)
"""How a client reaches the scripted vendor: directly, or by a gateway that asks it in a dialect."""

CODING_AGENTS = (
    Row("claude", "messages", "claude-sonnet-4-5"),
    Row("claude", "messages"),
    Row("codex", "responses"),
    Row("codex", "responses", "gpt-5.5"),
    Row("codex", "responses", "gpt-5.6-sol"),
    Row("codex-builtin", "responses", "gpt-5.5"),
    Row("gemini-cli", "gemini", "gemini-2.5-pro"),
    *(Row("opencode", dialect) for dialect in DIALECTS),
    *(Row("aider", dialect) for dialect in ("chat", "messages", "gemini")),
)
"""Codex offers other tools for each of its three kinds of model names; aider speaks no Responses."""
LLM = (
    *(Row("llm", dialect) for dialect in ("chat", "responses")),
    Row("llm", "messages", "claude-sonnet-4.5"),
)
"""Its plugin for Gemini has a fixed address."""
SDKS = tuple(
    Row(client, dialect, streamed=streamed)
    for client in ("ai-sdk", "langchain", "python-sdk", "node-sdk")
    for dialect in DIALECTS
    for streamed in (True, False)
)
ROWS = (*CODING_AGENTS, *LLM, *SDKS)

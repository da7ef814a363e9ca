"""What Ollama's own client (ollama 0.6, ``_types.py``) takes and gives, as types."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Function(_Closed):
    name: str
    arguments: dict[str, Any]
    index: int | None = None


class ToolCall(_Closed):
    function: Function
    id: str | None = None


class Message(_Closed):
    role: Literal["system", "user", "assistant", "tool"]
    content: str
    thinking: str | None = None
    images: list[str] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[ToolCall] | None = None


class ToolFunction(_Closed):
    name: str
    description: str
    parameters: dict[str, Any]


class Tool(_Closed):
    type: Literal["function"]
    function: ToolFunction


class ChatRequest(_Closed):
    model: str
    messages: list[Message]
    stream: bool
    tools: list[Tool] | None = None
    format: Literal["json"] | dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    think: bool | Literal["low", "medium", "high"] | None = None
    keep_alive: float | str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None

"""Messages of Cohere's Chat as its reference lists their members; anything else is an error."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Text(_Closed):
    type: Literal["text"]
    text: str


class Thinking(_Closed):
    type: Literal["thinking"]
    thinking: str


class Image(_Closed):
    class Url(_Closed):
        url: str
        detail: Literal["auto", "low", "high"] = "auto"

    type: Literal["image_url"]
    image_url: Url


class Call(_Closed):
    class Function(_Closed):
        name: str
        arguments: str

    id: str
    type: Literal["function"]
    function: Function


class System(_Closed):
    role: Literal["system"]
    content: str | list[Text]


class User(_Closed):
    role: Literal["user"]
    content: str | list[Text | Image]


class Assistant(_Closed):
    role: Literal["assistant"]
    content: str | list[Text | Thinking] | None = None
    tool_plan: str | None = None
    tool_calls: list[Call] | None = None
    citations: list[dict[str, Any]] | None = None


class Tool(_Closed):
    role: Literal["tool"]
    tool_call_id: str
    content: str | list[Text]


Message = System | User | Assistant | Tool

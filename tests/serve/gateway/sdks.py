"""The vendors' own SDKs, each asked the same and answering in one shape."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from later import Later

anthropic = Later("anthropic")
openai = Later("openai")
genai = Later("google.genai")
types = Later("google.genai.types")

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
ABOUT = "The weather of a city."
STOPS = {
    "tool_calls": "calls",
    "tool_use": "calls",
    "completed": "end",
    "stop": "end",
    "end_turn": "end",
    "STOP": "end",
    "length": "length",
    "max_tokens": "length",
    "incomplete": "length",
    "MAX_TOKENS": "length",
}


class Told(NamedTuple):
    """What an SDK made of a reply."""

    text: str
    calls: tuple[tuple[str, str, Mapping[str, Any]], ...]
    """Id, name and arguments."""
    stop: str
    usage: tuple[int, int]
    message: Any
    """What goes back into the conversation, in the SDK's own shape."""


class Sdk:
    """One SDK, pointed at a base address."""

    client: Any

    def __init__(self, base: str, key: str = "any", model: str = "m") -> None:
        self.base, self.key, self.model = base, key, model
        self.history: list[Any] = []
        self.system = "Be brief."

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    def say(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})

    async def ask(self, *, stream: bool, tools: bool = True, schema: Any = None) -> Told:
        raise NotImplementedError

    def answer(self, told: Told, results: Sequence[str]) -> None:
        raise NotImplementedError


class Chat(Sdk):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.client = openai.AsyncOpenAI(base_url=f"{self.base}/v1", api_key=self.key, max_retries=0)

    async def ask(self, *, stream: bool, tools: bool = True, schema: Any = None) -> Told:
        function = {"name": "weather", "description": ABOUT, "parameters": SCHEMA}
        more: dict[str, Any] = {"tools": [{"type": "function", "function": function}]} if tools else {}
        if schema:
            form = {"name": "answer", "schema": schema, "strict": True}
            more["response_format"] = {"type": "json_schema", "json_schema": form}
        messages = [{"role": "system", "content": self.system}, *self.history]
        if stream:
            more["stream_options"] = {"include_usage": True}
            async with self.client.chat.completions.stream(
                model=self.model, messages=messages, **more
            ) as events:
                async for _ in events:
                    pass
                done = await events.get_final_completion()
        else:
            done = await self.client.chat.completions.create(model=self.model, messages=messages, **more)
        choice = done.choices[0]
        calls = tuple(
            (call.id, call.function.name, json.loads(call.function.arguments))
            for call in choice.message.tool_calls or ()
        )
        usage = (done.usage.prompt_tokens, done.usage.completion_tokens)
        message = {"role": "assistant", "content": choice.message.content}
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.function.name, "arguments": call.function.arguments},
                }
                for call in choice.message.tool_calls
            ]
        return Told(choice.message.content or "", calls, STOPS[choice.finish_reason], usage, message)

    def answer(self, told: Told, results: Sequence[str]) -> None:
        self.history.append(told.message)
        for (identity, _, _), result in zip(told.calls, results, strict=True):
            self.history.append({"role": "tool", "tool_call_id": identity, "content": result})


class Responses(Sdk):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.client = openai.AsyncOpenAI(base_url=f"{self.base}/v1", api_key=self.key, max_retries=0)

    async def ask(self, *, stream: bool, tools: bool = True, schema: Any = None) -> Told:
        tool = {"type": "function", "name": "weather", "description": ABOUT, "parameters": SCHEMA}
        more: dict[str, Any] = {"tools": [{**tool, "strict": True}]} if tools else {}
        if schema:
            more["text"] = {
                "format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}
            }
        given = {"model": self.model, "instructions": self.system, "input": self.history, "store": False}
        if stream:
            async with self.client.responses.stream(**given, **more) as events:
                async for _ in events:
                    pass
                done = await events.get_final_response()
        else:
            done = await self.client.responses.create(**given, **more)
        made = [item for item in done.output if item.type == "function_call"]
        calls = tuple((call.call_id, call.name, json.loads(call.arguments)) for call in made)
        stop = "calls" if calls else STOPS[done.status]
        items = [item.model_dump(exclude_none=True, warnings=False) for item in done.output]
        for item in items:
            item.pop("parsed_arguments", None)
            for part in item.get("content", ()):
                part.pop("parsed", None)
        usage = (done.usage.input_tokens, done.usage.output_tokens)
        return Told(done.output_text, calls, stop, usage, items)

    def answer(self, told: Told, results: Sequence[str]) -> None:
        self.history.extend(told.message)
        for (identity, _, _), result in zip(told.calls, results, strict=True):
            self.history.append({"type": "function_call_output", "call_id": identity, "output": result})


class Messages(Sdk):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.client = anthropic.AsyncAnthropic(base_url=self.base, api_key=self.key, max_retries=0)

    async def ask(self, *, stream: bool, tools: bool = True, schema: Any = None) -> Told:
        tool = {"name": "weather", "description": ABOUT, "input_schema": SCHEMA}
        more: dict[str, Any] = {"tools": [tool]} if tools else {}
        if schema:
            more["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        given = {"model": self.model, "max_tokens": 500, "system": self.system, "messages": self.history}
        if stream:
            async with self.client.messages.stream(**given, **more) as events:
                async for _ in events:
                    pass
                done = await events.get_final_message()
        else:
            done = await self.client.messages.create(**given, **more)
        text = "".join(block.text for block in done.content if block.type == "text")
        calls = tuple(
            (block.id, block.name, block.input) for block in done.content if block.type == "tool_use"
        )
        content = [block.model_dump(exclude_none=True, warnings=False) for block in done.content]
        for block in content:
            block.pop("parsed_output", None)
        usage = (done.usage.input_tokens, done.usage.output_tokens)
        message = {"role": "assistant", "content": content}
        return Told(text, calls, STOPS[done.stop_reason], usage, message)

    def answer(self, told: Told, results: Sequence[str]) -> None:
        self.history.append(told.message)
        content = [
            {"type": "tool_result", "tool_use_id": identity, "content": result}
            for (identity, _, _), result in zip(told.calls, results, strict=True)
        ]
        self.history.append({"role": "user", "content": content})


class Gemini(Sdk):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        options = types.HttpOptions(base_url=self.base)
        self.client = genai.Client(api_key=self.key, http_options=options)

    async def __aexit__(self, *_: object) -> None:
        await self.client.aio.aclose()

    def say(self, text: str) -> None:
        self.history.append(types.Content(role="user", parts=[types.Part(text=text)]))

    async def ask(self, *, stream: bool, tools: bool = True, schema: Any = None) -> Told:
        declared = {"name": "weather", "description": ABOUT, "parameters_json_schema": SCHEMA}
        config: dict[str, Any] = {
            "system_instruction": self.system,
            "automatic_function_calling": {"disable": True},
        }
        if tools:
            config["tools"] = [{"function_declarations": [declared]}]
        if schema:
            config |= {"response_mime_type": "application/json", "response_json_schema": schema}
        given = {"model": self.model, "contents": self.history, "config": config}
        parts: list[Any] = []
        if stream:
            async for chunk in await self.client.aio.models.generate_content_stream(**given):
                done = chunk
                if chunk.candidates and chunk.candidates[0].content:
                    parts += chunk.candidates[0].content.parts or ()
        else:
            done = await self.client.aio.models.generate_content(**given)
            parts += done.candidates[0].content.parts or ()
        text = "".join(part.text or "" for part in parts if not part.thought)
        calls = tuple(
            (part.function_call.id, part.function_call.name, part.function_call.args)
            for part in parts
            if part.function_call
        )
        reason = done.candidates[0].finish_reason
        usage = done.usage_metadata
        counts = (usage.prompt_token_count, usage.candidates_token_count or 0)
        kept = [part for part in parts if part.text or part.function_call]
        stop = "calls" if calls else STOPS[reason.name]
        return Told(text, calls, stop, counts, types.Content(role="model", parts=kept))

    def answer(self, told: Told, results: Sequence[str]) -> None:
        self.history.append(told.message)
        parts = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=identity, name=name, response={"result": result}
                )
            )
            for (identity, name, _), result in zip(told.calls, results, strict=True)
        ]
        self.history.append(types.Content(role="user", parts=parts))


SDKS: Mapping[str, Callable[..., Sdk]] = {
    "openai_chat": Chat,
    "openai_responses": Responses,
    "anthropic": Messages,
    "gemini": Gemini,
}

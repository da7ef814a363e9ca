"""The official SDKs for Python, in one dialect: the task, a structured answer, or an error."""

import json

import anthropic
import openai
from google import genai
from google.genai import types
from hands import MOST_TURNS, SCHEMAS, WORDS, serve, use
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: int


def chat(job):
    client = openai.OpenAI(base_url=f"{job.base}/v1", api_key=job.key, max_retries=0)
    messages = [{"role": "user", "content": job.prompt}]
    asked = {"model": job.model, "messages": messages}
    if job.scenario == "structured":
        if not job.streamed:
            return (
                client.chat.completions.parse(**asked, response_format=Weather).choices[0].message.parsed
            )
        with client.chat.completions.stream(**asked, response_format=Weather) as stream:
            return stream.get_final_completion().choices[0].message.parsed
    tools = [
        {
            "type": "function",
            "function": {"name": name, "description": WORDS[name], "parameters": schema},
        }
        for name, schema in SCHEMAS.items()
    ]
    for _ in range(MOST_TURNS):
        if job.streamed:
            options = {"include_usage": True}
            with client.chat.completions.stream(**asked, tools=tools, stream_options=options) as stream:
                done = stream.get_final_completion()
        else:
            done = client.chat.completions.create(**asked, tools=tools)
        message = done.choices[0].message
        if not message.tool_calls:
            return message.content, done.choices[0].finish_reason, done.usage.prompt_tokens
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = use(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return None


def responses(job):
    client = openai.OpenAI(base_url=f"{job.base}/v1", api_key=job.key, max_retries=0)
    items = [{"role": "user", "content": job.prompt}]
    kept = {"store": False, "include": ["reasoning.encrypted_content"]}
    asked = {"model": job.model, "input": items, **kept}
    if job.scenario == "structured":
        if not job.streamed:
            return client.responses.parse(**asked, text_format=Weather).output_parsed
        with client.responses.stream(**asked, text_format=Weather) as stream:
            for _ in stream:
                pass
            return stream.get_final_response().output_parsed
    tools = [
        {
            "type": "function",
            "name": name,
            "description": WORDS[name],
            "parameters": schema,
            "strict": True,
        }
        for name, schema in SCHEMAS.items()
    ]
    for _ in range(MOST_TURNS):
        if job.streamed:
            with client.responses.stream(**asked, tools=tools) as stream:
                for _ in stream:
                    pass
                done = stream.get_final_response()
        else:
            done = client.responses.create(**asked, tools=tools)
        calls = [item for item in done.output if item.type == "function_call"]
        if not calls:
            return done.output_text, done.status, done.usage.input_tokens
        items += [
            item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in done.output
        ]
        for call in calls:
            output = use(call.name, json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
    return None


def messages(job):
    client = anthropic.Anthropic(base_url=job.base, api_key=job.key, max_retries=0)
    said = [{"role": "user", "content": job.prompt}]
    asked = {"model": job.model, "messages": said, "max_tokens": 4000}
    if job.scenario == "structured":
        if not job.streamed:
            return client.messages.parse(**asked, output_format=Weather).parsed_output
        with client.messages.stream(**asked, output_format=Weather) as stream:
            return stream.get_final_message().parsed_output
    asked["thinking"] = {"type": "enabled", "budget_tokens": 2000}
    tools = [
        {"name": name, "description": WORDS[name], "input_schema": schema}
        for name, schema in SCHEMAS.items()
    ]
    for _ in range(MOST_TURNS):
        if job.streamed:
            with client.messages.stream(**asked, tools=tools) as stream:
                done = stream.get_final_message()
        else:
            done = client.messages.create(**asked, tools=tools)
        calls = [block for block in done.content if block.type == "tool_use"]
        if not calls:
            text = "".join(block.text for block in done.content if block.type == "text")
            return text, done.stop_reason, done.usage.input_tokens
        said.append({"role": "assistant", "content": done.content})
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": use(call.name, call.input)}
            for call in calls
        ]
        said.append({"role": "user", "content": results})
    return None


def gemini(job):
    client = genai.Client(api_key=job.key, http_options={"base_url": job.base})
    contents = [types.Content(role="user", parts=[types.Part(text=job.prompt)])]
    if job.scenario == "structured":
        config = types.GenerateContentConfig(
            response_mime_type="application/json", response_schema=Weather
        )
        done = _generate(client, job, contents, config)
        return Weather.model_validate_json(
            "".join(part.text or "" for part in done[0] if not part.thought)
        )
    declared = [
        {"name": name, "description": WORDS[name], "parameters_json_schema": schema}
        for name, schema in SCHEMAS.items()
    ]
    config = types.GenerateContentConfig(
        tools=[{"function_declarations": declared}],
        automatic_function_calling={"disable": True},
        thinking_config={"include_thoughts": True},
    )
    for _ in range(MOST_TURNS):
        parts, stop, tokens = _generate(client, job, contents, config)
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            return "".join(part.text or "" for part in parts if not part.thought), stop, tokens
        contents.append(types.Content(role="model", parts=parts))
        answers = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id, name=call.name, response={"result": use(call.name, call.args)}
                )
            )
            for call in calls
        ]
        contents.append(types.Content(role="user", parts=answers))
    return None


def _generate(client, job, contents, config):
    asked = {"model": job.model, "contents": contents, "config": config}
    if job.streamed:
        chunks = list(client.models.generate_content_stream(**asked))
    else:
        chunks = [client.models.generate_content(**asked)]
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    last = chunks[-1]
    return parts, last.candidates[0].finish_reason, last.usage_metadata.prompt_token_count


def tried(job):
    dialect = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini}[job.dialect]
    try:
        done = dialect(job)
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        return {"error": type(error).__name__, "status": error.status_code, "message": str(error)}
    except genai.errors.APIError as error:
        return {"error": type(error).__name__, "status": error.code, "message": str(error)}
    if isinstance(done, Weather):
        return {"value": done.model_dump()}
    text, stop, tokens = done
    return {"text": text, "stop": stop, "tokens": tokens}


serve(tried)

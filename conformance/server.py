"""What the official MCP conformance suite asks of a server: its tools, resources and prompts.

``python conformance/server.py PORT`` serves them until it is stopped.
"""

import asyncio
import sys
from base64 import b64decode

import rightcall as rc
from rightcall.core.jsontext import JsonValue
from rightcall.mcp import prompt, resource
from rightcall.mcp.server import (
    Caller,
    Filled,
    Form,
    Listen,
    OfferedPrompt,
    OfferedResource,
    Roots,
    Sample,
    Sampled,
    caller,
    serve,
)

PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
SILENCE = b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
NAME = Form(message="What is your name?", fields={"name": {"type": "string"}}, required=("name",))
CONFIRM = Form(message="Please confirm", fields={"ok": {"type": "boolean"}}, required=("ok",))
PERSON: dict[str, JsonValue] = {
    "username": {"type": "string", "description": "User's response"},
    "email": {"type": "string", "description": "User's email address"},
}
DEFAULTS: dict[str, JsonValue] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
TITLED: JsonValue = [
    {"const": "value1", "title": "First Option"},
    {"const": "value2", "title": "Second Option"},
    {"const": "value3", "title": "Third Option"},
]
ENUMS: dict[str, JsonValue] = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {
        "type": "array",
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
    },
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
SCHEMA: dict[str, JsonValue] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def client() -> Caller:
    """The client that called; there always is one here."""
    who = caller()
    assert who is not None
    return who


@rc.tool
def test_simple_text() -> str:
    """Give a text."""
    return "This is a simple text response for testing."


@rc.tool
def test_image_content() -> rc.models.Media:
    """Give an image."""
    return rc.models.Media(PIXEL, "image/png")


@rc.tool
def test_audio_content() -> rc.models.Media:
    """Give a sound."""
    return rc.models.Media(SILENCE, "audio/wav")


@rc.tool
def test_embedded_resource() -> rc.models.Media:
    """Give a file."""
    return rc.models.Media(
        b"This is an embedded resource content.", "text/plain", "test://embedded-resource"
    )


@rc.tool
def test_multiple_content_types() -> list[str | rc.models.Media]:
    """Give a text, an image and a file."""
    document = rc.models.Media(
        b'{"test":"data","value":123}', "application/json", "test://mixed-content-resource"
    )
    return ["Multiple content types test:", rc.models.Media(PIXEL, "image/png"), document]


@rc.tool
def test_error_handling() -> str:
    """Fail."""
    raise rc.ToolFailure("This tool intentionally returns an error for testing")


@rc.tool
async def test_tool_with_logging() -> str:
    """Say what is being done, for the client's log."""
    await client().log("Tool execution started")
    await asyncio.sleep(0.05)
    await client().log("Tool processing data")
    await asyncio.sleep(0.05)
    await client().log("Tool execution completed")
    return "Tool with logging executed successfully"


@rc.tool
async def test_logging_tool() -> str:
    """Say one thing for the client's log."""
    await client().log("Logged")
    return "Logged"


@rc.tool
async def test_tool_with_progress(context: rc.Context[None]) -> str:
    """Say how far it is."""
    for done in (0, 50, 100):
        context.progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return "Done"


@rc.tool
async def test_sampling(prompt: str) -> str:
    """Ask the client's model."""
    answer = (await client().ask(answer=Sample(prompt=prompt, max_tokens=100)))["answer"]
    assert isinstance(answer, Sampled)
    return f"LLM response: {answer.text}"


async def fill(form: Form) -> str:
    """Have a form filled in, and say what became of it."""
    filled = (await client().ask(form=form))["form"]
    assert isinstance(filled, Filled)
    return f"action={filled.action}, content={dict(filled.content)}"


@rc.tool
async def test_elicitation(message: str) -> str:
    """Ask the user."""
    form = Form(message=message, fields=PERSON, required=("username", "email"))
    return f"User response: {await fill(form)}"


@rc.tool
async def test_elicitation_sep1034_defaults() -> str:
    """Ask the user, with suggestions."""
    form = Form(message="Please provide user information", fields=DEFAULTS)
    return f"Elicitation completed: {await fill(form)}"


@rc.tool
async def test_elicitation_sep1330_enums() -> str:
    """Ask the user to choose."""
    return f"Elicitation completed: {await fill(Form(message='Please choose', fields=ENUMS))}"


@rc.tool
async def test_streaming_elicitation(context: rc.Context[None]) -> str:
    """Say how far it is, and then ask the user."""
    context.progress(1, 2)
    return f"Hello, {await fill(NAME)}!"


@rc.tool
async def test_missing_capability() -> str:
    """Ask a model, of whoever may have none."""
    await client().ask(answer=Sample(prompt="Hello?"))
    return "There is a model."


@rc.tool
async def test_input_required_result_elicitation() -> str:
    """Ask for a name."""
    filled = (await client().ask(user_name=NAME))["user_name"]
    assert isinstance(filled, Filled)
    return f"Hello, {filled.content.get('name', 'stranger')}!"


@rc.tool
async def test_input_required_result_sampling() -> str:
    """Ask the client's model a question."""
    question = Sample(prompt="What is the capital of France?", max_tokens=100)
    answer = (await client().ask(capital_question=question))["capital_question"]
    assert isinstance(answer, Sampled)
    return f"The model said: {answer.text}"


@rc.tool
async def test_input_required_result_list_roots() -> str:
    """Ask for the folders."""
    answers = await client().ask(client_roots=Roots())
    return f"The folders: {answers['client_roots']}"


@rc.tool
async def test_input_required_result_request_state() -> str:
    """Ask for a yes."""
    await client().ask(confirm=CONFIRM)
    return "state-ok: confirmed"


@rc.tool
async def test_input_required_result_tampered_state() -> str:
    """Ask for a yes, and trust nobody who brings a forged one."""
    await client().ask(confirm=CONFIRM)
    return "state-ok: confirmed"


@rc.tool
async def test_input_required_result_multiple_inputs() -> str:
    """Ask for three things at once."""
    greeting = Sample(prompt="Generate a greeting", max_tokens=50)
    answers = await client().ask(user_name=NAME, greeting=greeting, client_roots=Roots())
    return f"All of it: {answers}"


@rc.tool
async def test_input_required_result_multi_round() -> str:
    """Ask for one thing, and then for another."""
    name = Form(message="Step 1: What is your name?", fields=NAME.fields, required=("name",))
    color = Form(
        message="Step 2: What is your favorite color?",
        fields={"color": {"type": "string"}},
        required=("color",),
    )
    first = await client().ask(step1=name)
    second = await client().ask(step2=color)
    return f"{first} {second}"


@rc.tool
async def test_input_required_result_capabilities() -> str:
    """Ask for what the client can give."""
    wanted: dict[str, Form | Sample] = {
        "sample": Sample(prompt="Say hello", max_tokens=50),
        "name": NAME,
    }
    return str(await client().ask(**{key: each for key, each in wanted.items() if client().can(each)}))


REGION = {"type": "string", "description": "Goes into a header, too", "x-mcp-header": "Region"}
test_x_mcp_header = rc.Tool(
    "test_x_mcp_header",
    "Take an argument that clients repeat in a header.",
    {"type": "object", "properties": {"region": REGION}},
    lambda region="<none>": f"region={region}",
)
json_schema_2020_12_tool = rc.Tool(
    "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", SCHEMA
)


@resource("test://static-text", media_type="text/plain")
def static_text() -> str:
    """A text that does not change."""
    return "This is the content of the static text resource."


@resource("test://static-binary", media_type="image/png")
def static_binary() -> bytes:
    """Bytes that do not change."""
    return PIXEL


@resource("test://watched-resource", media_type="text/plain")
def watched() -> str:
    """Something to subscribe to."""
    return "Watched"


@resource("test://template/{id}/data", media_type="application/json")
def template_data(id: str) -> dict[str, JsonValue]:  # noqa: A002 - as the suite calls it
    """Data of each id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@prompt
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@test_prompt_with_arguments.complete("arg1")
def complete_arg1(value: str) -> list[str]:
    return [each for each in ("paris", "park", "party") if each.startswith(value)]


@prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[str | rc.models.Media]:  # noqa: N803
    """A prompt with a file."""
    document = rc.models.Media(b"Embedded resource content for testing.", "text/plain", resourceUri)
    return [document, "Please process the embedded resource above."]


@prompt
def test_prompt_with_image() -> list[str | rc.models.Media]:
    """A prompt with an image."""
    return [rc.models.Media(PIXEL, "image/png"), "Please analyze the image above."]


@prompt
async def test_input_required_result_prompt() -> str:
    """A prompt that asks first."""
    question = Form(
        message="What context should the prompt use?",
        fields={"context": {"type": "string"}},
        required=("context",),
    )
    filled = (await client().ask(user_context=question))["user_context"]
    assert isinstance(filled, Filled)
    return f"Use this: {filled.content.get('context')}"


TOOLS = [each for each in dict(globals()).values() if isinstance(each, rc.Tool)]
RESOURCES = [each for each in dict(globals()).values() if isinstance(each, OfferedResource)]
PROMPTS = [each for each in dict(globals()).values() if isinstance(each, OfferedPrompt)]

if __name__ == "__main__":
    serve(
        TOOLS,
        listen=Listen(port=int(sys.argv[1])),
        started=lambda address: print(f"serving at {address}", file=sys.stderr, flush=True),
        name="rightcall-conformance",
        resources=RESOURCES,
        prompts=PROMPTS,
    )

"""The vendors' own types take what is sent, and what the stand-ins for the vendors answer."""

import json

from pydantic import TypeAdapter

import rightcall as rc
from batching.vendors import Anthropic, Gemini, OpenAI, Vendor, open_for_business
from later import Later

ANTHROPIC = Later("anthropic.types.messages")
OPENAI = Later("openai.types")
GENAI = Later("google.genai")

ASKED = ["one", "bad", "three"]


async def asked(vendor: Vendor, name: str) -> dict:
    """Submit a batch; the body that made it."""
    model = rc.connect(name, base_url=vendor.url, api_key="key")
    await rc.batching.batch(rc.Agent(model, max_tokens=9), ASKED, poll=0.001)
    posted = [(target, body) for method, target, _, body in vendor.requests if method == "POST"]
    (body,) = [body for target, body in posted if target.endswith(("/batches", ":batchGenerateContent"))]
    return json.loads(body)


def shown(vendor: Vendor, target: str) -> object:
    return vendor.answer("GET", target, vendor.requests[-1][2], b"")[2]


async def test_openai():
    async with open_for_business(OpenAI()) as vendor:
        given = await asked(vendor, "openai-responses:m")
        TypeAdapter(OPENAI.batch_create_params.BatchCreateParams).validate_python(given)
        assert (
            OPENAI.Batch.model_validate({**given, **shown(vendor, "/batches/batch_0")}).status
            == "completed"
        )


async def test_anthropic():
    async with open_for_business(Anthropic()) as vendor:
        given = await asked(vendor, "anthropic:m")
        TypeAdapter(ANTHROPIC.batch_create_params.BatchCreateParams).validate_python(given)
        batch = "/v1/messages/batches/msgbatch_0"
        later = {"expires_at": "2100-01-02T00:00:00Z"}
        assert ANTHROPIC.MessageBatch.model_validate({**later, **shown(vendor, batch)}).results_url
        lines = shown(vendor, f"{batch}/results").splitlines()
        results = [
            ANTHROPIC.MessageBatchIndividualResponse.model_validate_json(line).result for line in lines
        ]
        assert [result.type for result in results] == ["succeeded", "errored", "succeeded"]


async def test_gemini():
    """Its types are not those of the wire, so its SDK is asked what it would send, and what it reads."""
    client, batches, types = GENAI.Client(api_key="k"), GENAI.batches, GENAI.types
    async with open_for_business(Gemini()) as vendor:
        given = await asked(vendor, "gemini:gemini-3-pro")
        sent = [
            types.InlinedRequest(
                contents=[types.Content(role="user", parts=[types.Part(text=prompt)])],
                metadata=each["metadata"],
                config=types.GenerateContentConfig(max_output_tokens=9),
            )
            for prompt, each in zip(
                ASKED, given["batch"]["inputConfig"]["requests"]["requests"], strict=True
            )
        ]
        wish = types._CreateBatchJobParameters(
            model="models/gemini-3-pro",
            src=types.BatchJobSource(inlined_requests=sent),
            config=types.CreateBatchJobConfig(display_name=given["batch"]["displayName"]),
        )
        theirs = batches._CreateBatchJobParameters_to_mldev(client._api_client, wish)
        assert given == {"batch": theirs["batch"]}
        read = batches._BatchJob_from_mldev(shown(vendor, "/v1beta/batches/0"))
        assert types.BatchJob.model_validate(read).state == types.JobState.JOB_STATE_SUCCEEDED

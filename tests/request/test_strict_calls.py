"""Strict mode from the request to the tool: what is sent, what comes back, and what the tool gets."""

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

import rightcall as rc
from rightcall.core.transport import StreamedResponse, Timeouts

ARGUMENTS = '{"city":"Rome","days":null,"unit":null}'


class Vendor:
    """Calls the tool once, then answers; keeps what it was sent."""

    def __init__(self, arguments: str = ARGUMENTS, answer: str = "Done") -> None:
        self.bodies: list[dict[str, Any]] = []
        self._call = {"id": "c1", "type": "function"}
        self._call |= {"function": {"name": "forecast", "arguments": arguments}}
        self._answer = answer

    @asynccontextmanager
    async def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AsyncIterator[StreamedResponse]:
        self.bodies.append(json.loads(body))
        is_asked = len(self.bodies) == 1 and "tools" in self.bodies[0]
        message: dict[str, Any] = {"role": "assistant", "content": None if is_asked else self._answer}
        message |= {"tool_calls": [self._call]} if is_asked else {}
        stop = "tool_calls" if is_asked else "stop"
        reply = {"choices": [{"index": 0, "message": message, "finish_reason": stop}]}
        yield StreamedResponse(
            200, {"content-type": "application/json"}, _once(json.dumps(reply).encode())
        )

    @asynccontextmanager
    async def get(
        self, url: str, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AsyncIterator[StreamedResponse]:
        yield StreamedResponse(404, {}, _once(b""))

    async def close(self) -> None:
        """Nothing is open."""


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def connected(vendor: Vendor, url: str = "https://api.openai.com/v1") -> Any:
    return rc.connect(f"{url}|gpt-5", api_key="k", transport=vendor)


@rc.tool(effect="read")
def forecast(city: str, days: int = 3, unit: str | None = None) -> str:
    """The weather to come."""
    return f"{city} {days} {unit}"


async def test_what_strict_mode_forced_does_not_reach_the_tool_and_goes_back_as_it_was(caplog):
    vendor = Vendor()
    with caplog.at_level(logging.DEBUG, logger="rightcall.request"):
        result = await rc.Agent(connected(vendor), [forecast]).run("Rome?")
    assert result.calls[0].outcome == "returned"
    first, second = vendor.bodies
    assert first["tools"] == second["tools"]
    assert first["tools"][0]["function"]["strict"] is True
    assert first["tools"][0]["function"]["parameters"]["required"] == ["city", "days", "unit"]
    assert second["messages"][-2]["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert second["messages"][-1]["content"] == "Rome 3 None"
    assert "not sent strict" not in caplog.text


@pytest.mark.parametrize("how", [{"url": "http://localhost:1/v1"}, {"strict": False}])
async def test_null_in_a_call_that_was_not_held_is_the_models_mistake(how, caplog):
    vendor = Vendor()
    model = connected(vendor, how.get("url", "https://api.openai.com/v1"))
    options = {"strict": how["strict"]} if "strict" in how else {}
    with caplog.at_level(logging.DEBUG, logger="rightcall.request"):
        result = await rc.Agent(model, [forecast], options=options).run("Rome?")
    assert result.calls[0].outcome == "invalid"
    assert "strict" not in vendor.bodies[0]["tools"][0]["function"]
    assert "the tool forecast is not sent strict: " in caplog.text


async def test_a_tool_that_must_be_strict_and_cannot_is_an_error_with_its_place():
    @rc.tool(strict=True)
    def tag(labels: dict[str, str]) -> str:
        """Tag."""
        return str(labels)

    with pytest.raises(rc.errors.EncodeError, match=r"tool 'tag' at \$\.labels") as caught:
        await rc.Agent(connected(Vendor()), [tag]).run("Tag it")
    assert "strict objects are closed" in str(caught.value)


async def test_an_answer_may_leave_out_by_null_what_it_may_leave_out():
    from pydantic import BaseModel  # noqa: PLC0415 - of this test alone

    class City(BaseModel):
        name: str
        people: int = 7

    vendor = Vendor(answer='{"name":"Rome","people":null}')
    result = await rc.Agent(connected(vendor), output=City).run("Rome?")
    assert vendor.bodies[0]["response_format"]["json_schema"]["strict"] is True
    assert result.output == City(name="Rome")

"""Stream an answer that needs three tools, and show each call as it happens.

python examples/streaming.py "What should I wear in Oslo tomorrow?"
"""

import asyncio
import sys

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"
FORECAST = {"Oslo": (3, "rain"), "Lisbon": (19, "sun")}


@rc.tool(effect="read")
async def get_forecast(city: str) -> dict[str, object]:
    """Tomorrow's weather in a city. Use it before giving advice about clothes or travel."""
    degrees, sky = FORECAST[city]
    return {"city": city, "celsius": degrees, "sky": sky}


@rc.tool(effect="read")
async def list_clothes() -> list[str]:
    """What is in the user's wardrobe."""
    return ["rain coat", "linen shirt", "wool jumper"]


@rc.tool(effect="pure")
def to_fahrenheit(celsius: float) -> float:
    """Convert degrees Celsius to Fahrenheit."""
    return round(celsius * 9 / 5 + 32, 1)


async def main(question: str) -> None:
    tools = rc.Toolbox(get_forecast, list_clothes, to_fahrenheit)
    async with rc.Agent(MODEL, tools, "Answer in two sentences.") as agent:
        async for event in agent.stream(question):
            match event:
                case rc.events.TextDelta(text):
                    print(text, end="", flush=True)
                case rc.events.CallEnd(call=call):
                    print(f"\n→ {call.name} {call.arguments}")
                case rc.events.ResultEnd(result):
                    print(f"← {result.name}: {result.text}")
                case rc.events.RunEnd(result):
                    print(f"\n({len(result.turns)} turns, {result.usage.tokens} tokens)")
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "What should I wear in Oslo tomorrow?"))

"""Ask a second vendor where the first one is down, and say who answered.

    python examples/fallback.py "What is the capital of France?"

Both keys are needed: ANTHROPIC_API_KEY and OPENAI_API_KEY.
"""

import asyncio
import logging
import sys

import rightcall as rc

# The best first. Both see the same conversation, and the same tools.
MODELS = ["anthropic:claude-opus-4-8", "openai:gpt-5"]


@rc.tool(effect="read")
def get_capital(country: str) -> str:
    """The capital of a country."""
    return {"France": "Paris", "Norway": "Oslo"}[country]


async def main(question: str) -> None:
    # Retries and changes of model are warnings in the log; here they are printed, from the events.
    logging.getLogger("rightcall").setLevel(logging.ERROR)
    async with rc.Agent(MODELS, [get_capital]) as agent:
        try:
            async for event in agent.stream(question):
                match event:
                    case rc.events.RetryStart(reason=reason):
                        print(f"again: {reason}")
                    case rc.events.ModelChange(failed=failed, model=model):
                        print(f"{failed} is down, so {model} is asked")
                    case rc.events.RunEnd(result):
                        print(f"{result.text} (says {result.models[-1]})")
                    case _:
                        pass
        except (rc.errors.VendorError, rc.errors.TransportError) as error:
            # Nobody answered. This is the last one's error; its notes tell of those before.
            print(f"nobody is there ({error.kind}): {error}")
            print(*getattr(error, "__notes__", ()), sep="\n")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "What is the capital of France?"))

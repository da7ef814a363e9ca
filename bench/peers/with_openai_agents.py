"""OpenAI's Agents SDK, on chat completions."""

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from client import PROMPT, Job, Run, get_weather, main
from sdk_openai import connect


async def prepare(job: Job) -> Run:
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("m", openai_client=await connect(job))
    settings = ModelSettings(include_usage=True)
    agent = Agent("weather", model=model, model_settings=settings, tools=[function_tool(get_weather)])

    async def streamed() -> str:
        running = Runner.run_streamed(agent, PROMPT, max_turns=None)
        async for _ in running.stream_events():
            pass
        return str(running.final_output)

    async def whole() -> str:
        return str((await Runner.run(agent, PROMPT, max_turns=None)).final_output)

    return streamed if job.streamed else whole


if __name__ == "__main__":
    main(prepare)

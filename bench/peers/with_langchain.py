"""LangChain's agent, which is a LangGraph graph."""

from client import KEY, PROMPT, Job, Run, get_weather, main
from langchain.agents import create_agent
from langchain.messages import AIMessageChunk
from langchain_openai import ChatOpenAI

INPUT = {"messages": [{"role": "user", "content": PROMPT}]}
CONFIG = {"recursion_limit": 100_000}


async def prepare(job: Job) -> Run:
    model = ChatOpenAI(
        model="m",
        base_url=job.base,
        api_key=KEY,
        timeout=600,
        streaming=job.streamed,
        stream_usage=True,
        stream_chunk_timeout=None,  # else a timer per chunk; the HTTP client has a time limit already
    )
    agent = create_agent(model, [get_weather])

    async def streamed() -> str:
        parts = agent.astream(INPUT, CONFIG, stream_mode="messages")
        return "".join([part.text async for part, _ in parts if isinstance(part, AIMessageChunk)])

    async def whole() -> str:
        done = await agent.ainvoke(INPUT, CONFIG)
        return str(done["messages"][-1].text)

    return streamed if job.streamed else whole


if __name__ == "__main__":
    main(prepare)

"""LangChain's agent on its own model classes, in one dialect: the task, or a structured answer."""

from hands import run_command, serve, write_file
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    celsius: int


def model(job):
    same = {"model": job.model, "api_key": job.key, "max_retries": 0}
    match job.dialect:
        case "chat":
            return ChatOpenAI(
                **same, base_url=f"{job.base}/v1", use_responses_api=False, stream_usage=True
            )
        case "responses":
            return ChatOpenAI(**same, base_url=f"{job.base}/v1", use_responses_api=True)
        case "messages":
            return ChatAnthropic(**same, base_url=job.base, max_tokens=4000)
        case "gemini":
            return ChatGoogleGenerativeAI(**same, base_url=job.base)


def tried(job):
    if job.scenario == "structured":
        shaped = model(job).with_structured_output(Weather, method="json_schema")
        return {"value": shaped.invoke(job.prompt).model_dump()}
    asked = {"messages": [("user", job.prompt)]}
    agent = create_agent(model(job), [write_file, run_command])
    if job.streamed:
        chunks = [chunk for chunk, _ in agent.stream(asked, stream_mode="messages")]
        return {"text": "".join(chunk.text for chunk in chunks if chunk.type == "AIMessageChunk")}
    last = agent.invoke(asked)["messages"][-1]
    return {"text": last.text, "tokens": last.usage_metadata["input_tokens"]}


serve(tried)

"""A web server that answers many users at once, and streams to each.

    pip install starlette uvicorn
    uvicorn --app-dir examples web_handler:app
    curl -N 'http://127.0.0.1:8000/ask?user=ann&q=Where+is+my+parcel'

One agent serves everybody: it holds no conversation. Who is asking comes in as a dependency, so no model
can ask for somebody else's parcels.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"


@dataclass(frozen=True)
class Session:
    """Who is asking."""

    user: str


@rc.tool(effect="read")
async def find_parcels(context: rc.Context[Session]) -> list[str]:
    """The parcels that are on their way to the user."""
    return [f"parcel of {context.dependencies.user}, in Bern"]


agent = rc.Agent(
    MODEL,
    [find_parcels],
    "Help customers of a parcel service. Be brief.",
    budget=rc.Budget(turns=5, seconds=60, cost=0.05),
)


async def ask(request: Request) -> Response:
    user, question = request.query_params.get("user"), request.query_params.get("q")
    if not user or not question:
        return JSONResponse({"error": "give user and q"}, status_code=400)

    async def words() -> AsyncIterator[str]:
        # A user who leaves cancels the run: the stream is closed, and so is what it started.
        async for event in agent.stream(question, dependencies=Session(user)):
            if isinstance(event, rc.events.TextDelta):
                yield event.text

    return StreamingResponse(words(), media_type="text/plain")


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    async with agent:
        yield


app = Starlette(routes=[Route("/ask", ask)], lifespan=lifespan)

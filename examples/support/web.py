"""The desk over HTTP: hand in a ticket, and look what became of it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import rightcall as rc

# No agents: this process executes nothing. The address is the workers'.
client = rc.durable.App(os.environ.get("RUNS", "sqlite:///tickets.db"))


async def submit(request: Request) -> Response:
    """PUT /tickets/NAME with the question. The same ticket twice is one run."""
    question = (await request.body()).decode()
    try:
        run = await client.submit("desk", question, run=request.path_params["name"])
    except rc.errors.UsageError as error:
        return JSONResponse({"error": str(error)}, status_code=409)
    return JSONResponse({"ticket": run.run}, status_code=202)


async def show(request: Request) -> Response:
    """GET /tickets/NAME: the answer, or what it waits for. It answers once one of them is there."""
    try:
        result = await client.result(request.path_params["name"])
    except rc.errors.UsageError as error:
        return JSONResponse({"error": str(error)}, status_code=404)
    waiting = [{"tool": each.name, "arguments": each.arguments} for each in result.pending]
    return JSONResponse({"answer": result.text, "waiting": waiting})


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    async with client:
        yield


put = Route("/tickets/{name}", submit, methods=["PUT"])
get = Route("/tickets/{name}", show, methods=["GET"])
app = Starlette(routes=[put, get], lifespan=lifespan)

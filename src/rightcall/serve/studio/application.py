"""A studio as a web application: routes, files, errors, and access checks."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from rightcall.agent import Agent
from rightcall.core.options import checked
from rightcall.errors import RightcallError
from rightcall.log import logger
from rightcall.serve.studio.answers import Refused, refusal, refused
from rightcall.serve.studio.reading_routes import ReadingRoutes
from rightcall.serve.studio.run_actions import NoAgent, NotFitting
from rightcall.serve.studio.run_reader import NoRun
from rightcall.serve.studio.security import AccessCheck
from rightcall.serve.studio.sources import Place
from rightcall.serve.studio.state import Studio
from rightcall.serve.studio.writing_routes import WritingRoutes

_STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}


@checked("studio_app")
def studio_app(
    journal: Place,
    *,
    agents: Mapping[str, Agent[Any]] | Sequence[Agent[Any]] | Agent[Any] = (),
    write: bool = False,
    token: str | None = None,
    hosts: Sequence[str] = (),
    port: int = 0,
    cache: Path | None = None,
) -> ASGIApp:
    """The studio of a journal, for an ASGI server of your own.

    ``agents`` continue runs and can be tried, if ``write`` allows that. A studio that other machines can
    reach must require a ``token``; ``hosts`` are its names besides those of this machine. ``cache`` is
    the folder for the index; without one it is kept in memory.
    """
    studio = Studio(journal, agents=agents, can_write=write, cache=cache)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(studio.watcher.watch(), name="studio watcher")
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await studio.close()

    routes = [
        *ReadingRoutes(studio).routes(),
        *WritingRoutes(studio).routes(),
        Route("/api/{path:path}", _no_route, methods=["GET", "POST"]),
        Route("/favicon.ico", _no_icon),
        Route("/static/{path:path}", _file),
        Route("/{path:path}", _page),
    ]
    told: tuple[type[Exception], ...] = (Refused, NoRun, NoAgent, NotFitting, RightcallError)
    handlers: dict[Any, Any] = dict.fromkeys(told, _tell)
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.add_middleware(_LastResort)
    return AccessCheck(app, hosts=hosts, token=token, csrf=studio.csrf, port=port)


async def _tell(_: Request, error: Exception) -> Response:
    found = refused(error)
    assert found is not None
    return refusal(found)


class _LastResort:
    """Handles unexpected errors: they are logged, and the client learns only that there was one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        begun = False

        async def sending(message: Any) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception:
            if scope["type"] != "http" or begun:
                raise
            logger.exception("the studio failed at %s", scope["path"])
            failed = refusal(Refused(500, "failed", "The studio failed at this; its log says more."))
            await failed(scope, receive, send)


async def _no_route(_: Request) -> Response:
    return refusal(Refused(404, "not_found", "There is nothing under this address."))


async def _no_icon(_: Request) -> Response:
    return Response(status_code=204)


async def _file(request: Request) -> Response:
    """A file of the pages; nothing else can be reached, whatever the path says."""
    asked = request.path_params["path"]
    found = next((path for path in _files() if path.relative_to(_STATIC).as_posix() == asked), None)
    if found is None:
        return await _no_route(request)
    data = await asyncio.to_thread(found.read_bytes)
    headers = {"cache-control": "no-cache"}
    return Response(data, media_type=_TYPES[found.suffix], headers=headers)


def _files() -> list[Path]:
    return [path for path in _STATIC.rglob("*") if path.suffix in _TYPES and path.is_file()]


async def _page(_: Request) -> Response:
    data = await asyncio.to_thread((_STATIC / "index.html").read_bytes)
    return Response(data, media_type=_TYPES[".html"], headers={"cache-control": "no-cache"})

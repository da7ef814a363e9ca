"""The routes that change something: decisions, forks, replays, tries, chats."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall.serve.studio.agents import AgentHere
from rightcall.serve.studio.answers import Refused, answer
from rightcall.serve.studio.manual_call import try_call
from rightcall.serve.studio.queries import Body, body
from rightcall.serve.studio.run_actions import Forking, NoAgent, decisions_from
from rightcall.serve.studio.state import Studio

_WORDS = {
    "resumed": "The run goes on.",
    "recorded": "Recorded. The run goes on when its program recovers it.",
    "running": "The new run goes on here.",
    "queued": "Queued. A worker of the store takes it.",
}
_LONGEST_NAME = 200


class WritingRoutes:
    """Handles requests that change something."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._reader = studio.reader
        self._actions = studio.actions

    def routes(self) -> list[Route]:
        """Every route, by its path."""
        return [
            Route("/api/run/decide", self.decide, methods=["POST"]),
            Route("/api/run/replay", self.replay, methods=["POST"]),
            Route("/api/run/fork", self.fork, methods=["POST"]),
            Route("/api/run/stop", self.stop, methods=["POST"]),
            Route("/api/try", self.try_tool, methods=["POST"]),
            Route("/api/chat", self.chat, methods=["POST"]),
        ]

    async def decide(self, request: Request) -> Response:
        """Take a person's decision: yes, no, or other arguments."""
        self._check_write()
        given = await body(request)
        run = await self._run(given)
        decisions = decisions_from(given.object("decisions"))
        state = await self._actions.decide(run, given.text("pause"), decisions)
        await self._reader.catch_up()
        return answer({"state": state, "run": run, "words": _WORDS[state]})

    async def replay(self, request: Request) -> Response:
        """Replay a run from its record; with a model or live tools only if that is allowed."""
        given = await body(request)
        run = await self._run(given)
        model, is_live = given.text("model"), given.text("tools") == "live"
        if model or is_live:
            self._check_write()
        told = await self._actions.replay(run, model, given.text("agent"), live_tools=is_live)
        return answer(told)

    async def fork(self, request: Request) -> Response:
        """Fork a run."""
        self._check_write()
        given = await body(request)
        run = await self._run(given)
        message = given.object("message")
        edited = None
        if message is not None:
            inner = Body(message)
            edited = (inner.whole("index") or 0, inner.text("text", needed=True))
        forking = Forking(
            before_turn=given.whole("before_turn"),
            message=edited,
            say=given.text("say"),
            name=given.text("as", most=_LONGEST_NAME),
        )
        model, agent = given.text("model"), given.text("agent")
        if model and not self._reader.agents:
            raise NoAgent
        new, state = await self._actions.fork(run, forking, model, agent)
        return answer({"run": new, "shown": new, "state": state, "words": _WORDS[state]})

    async def stop(self, request: Request) -> Response:
        """Cancel a run of this process."""
        self._check_write()
        given = await body(request)
        if not await self._actions.stop(given.text("run", needed=True)):
            raise Refused(409, "run_held", "This run is not this studio's to stop.", holder="")
        return answer({"state": "stopping"})

    async def try_tool(self, request: Request) -> Response:
        """Call a tool, from a form."""
        self._check_write()
        given = await body(request)
        here, tool = self._agent(given), given.text("tool", needed=True)
        if here.agent.tools.get(tool) is None:
            raise Refused(404, "not_found", "The agent has no such tool.")
        arguments = given.object("arguments") or {}
        dry_run, approve = given.flag("dry_run"), given.flag("approve")
        return answer(await try_call(here, tool, arguments, dry_run=dry_run, is_approved=approve))

    async def chat(self, request: Request) -> Response:
        """Send a message to an agent."""
        self._check_write()
        given = await body(request)
        here, prompt = self._agent(given), given.text("prompt", needed=True)
        after = given.text("after") or None
        if after is not None:
            await self._reader.facts(after)
        dry_run = given.flag("dry_run")
        run = await self._actions.chat(here, prompt, after, given.text("model"), dry_run=dry_run)
        return answer({"run": run, "shown": run})

    async def _run(self, given: Body) -> str:
        run = given.text("run", needed=True)
        await self._reader.facts(run)
        return run

    def _agent(self, given: Body) -> AgentHere:
        name = given.text("agent")
        here = self._reader.here(name)
        if here is None and name and self._reader.agents:
            raise Refused(404, "not_found", "This studio has no agent of that name.")
        if here is None:
            raise NoAgent
        return here

    def _check_write(self) -> None:
        if not self._studio.can_write:
            raise Refused(
                403, "read_only", "This studio only shows: start it with --write to change things."
            )

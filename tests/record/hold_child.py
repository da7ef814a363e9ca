"""A process at a run: ``JOURNAL run|recover|yes|no SECONDS``. Says how it went. Started by test_hold.py.

The tool writes a line to a file beside the journal, then takes so many seconds.
"""

import asyncio
import sys
from pathlib import Path

import rightcall as rc
from rightcall.errors import RightcallError
from rightcall.testing import ScriptedModel, call, reply


def journal_at(path: Path) -> rc.record.SqliteJournal | rc.record.JsonLinesJournal:
    kind = rc.record.SqliteJournal if path.suffix == ".db" else rc.record.JsonLinesJournal
    return kind(path)


def agent_at(path: Path, seconds: float, journal: rc.record.Journal) -> rc.Agent:
    @rc.tool(approval=path.stem == "asked")
    async def pay(amount: int) -> str:
        """Pay."""
        with path.with_suffix(".acts").open("a") as acts:
            acts.write("pay\n")
        print("paying", flush=True)  # noqa: T201 - for whoever started this
        await asyncio.sleep(seconds)
        return "paid"

    def answer(request: rc.models.Request) -> rc.Reply | str:
        asked = any(isinstance(message, rc.Reply) for message in request.messages)
        return "Done." if asked else reply(call("pay", id="p", amount=5))

    return rc.Agent(ScriptedModel(answer), [pay], journal=journal)


async def main(path: Path, what: str, seconds: float) -> str:
    with journal_at(path) as journal:
        agent = agent_at(path, seconds, journal)
        try:
            if what == "run":
                result = await agent.run("Pay.", run="r")
            elif what == "recover":
                result = await agent.recover("r")
            else:
                paused = rc.RunResult.from_json(path.with_suffix(".paused").read_bytes())
                result = await agent.resume(paused, {"p": what == "yes"})
        except RightcallError as error:
            return f"{error.code}: {error}"
        if result.pending:
            path.with_suffix(".paused").write_bytes(result.to_json())
        return f"{result.stop}: {[each.outcome for each in result.calls]}"


if __name__ == "__main__":
    print(asyncio.run(main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))), flush=True)  # noqa: T201

import asyncio

import pytest

from rightcall.mcp.server.served_calls import SerialLock


class Scene:
    """Calls that take turns, and who is in now."""

    def __init__(self):
        self.turns = SerialLock()
        self.inside = []
        self.tasks = {}
        self.ends = {}

    async def come(self, name, *, alone=False):
        self.ends[name] = asyncio.Event()

        async def call():
            await self.turns.acquire(alone=alone)
            self.inside.append(name)
            try:
                await self.ends[name].wait()
            finally:
                self.inside.remove(name)
                self.turns.release()

        self.tasks[name] = asyncio.ensure_future(call())
        await settle()

    async def end(self, name):
        self.ends[name].set()
        await self.tasks[name]
        await settle()

    async def give_up(self, name):
        self.tasks[name].cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.tasks[name]
        await settle()


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_calls_run_beside_each_other_and_serial_ones_alone_in_order():
    scene = Scene()
    await scene.come("a")
    await scene.come("b")
    await scene.come("alone", alone=True)
    await scene.come("c")
    assert scene.inside == ["a", "b"]
    await scene.end("a")
    assert scene.inside == ["b"]
    await scene.end("b")
    assert scene.inside == ["alone"]
    await scene.end("alone")
    assert scene.inside == ["c"]
    await scene.end("c")


async def test_who_gives_up_waiting_holds_up_nobody():
    scene = Scene()
    await scene.come("a")
    await scene.come("alone", alone=True)
    await scene.come("b")
    assert scene.inside == ["a"]
    await scene.give_up("alone")
    assert scene.inside == ["a", "b"]
    await scene.end("a")
    await scene.end("b")


async def test_who_is_given_up_just_as_its_turn_comes_gives_it_on():
    scene = Scene()
    await scene.come("first", alone=True)
    await scene.come("second", alone=True)
    await scene.come("third", alone=True)
    scene.ends["first"].set()
    await scene.tasks["first"]
    await scene.give_up("second")
    assert scene.inside == ["third"]
    await scene.end("third")

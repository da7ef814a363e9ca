"""What engines in this process share: one model for all of them, and completions that can be stopped."""

import asyncio
from contextlib import aclosing

import pytest

from rightcall.errors import UsageError
from rightcall.local.engine import Card
from rightcall.local.engines.in_process import InProcess, LoadedModel, Shared


class Counter(LoadedModel):
    """A model that counts, as long as somebody reads."""

    def __init__(self, name):
        super().__init__(1, 1)
        self.card = Card(name=name)
        self.is_loaded = True

    def count(self, channel, most):
        number = 0
        while number < most and channel.put(number):
            number += 1

    def unload(self):
        self.stop()
        self.is_loaded = False


MODELS = Shared(Counter, Counter.unload)


class Engine(InProcess):
    def __init__(self, name="counter"):
        super().__init__(MODELS, name, lambda _: None)

    async def complete(self, most=3, generate=None):
        model = await self._loan.get()
        generated = self._generate_items(
            model, 1, generate or (lambda channel: model.count(channel, most))
        )
        async with aclosing(generated) as numbers:
            async for number in numbers:
                yield number

    async def model(self):
        return await self._loan.get()


async def test_everything_that_is_generated_comes_in_order():
    engine = Engine()
    assert await engine.ready() == Card(name="counter")
    assert [number async for number in engine.complete(1000)] == list(range(1000))
    await engine.close()


async def test_what_goes_wrong_in_the_thread_is_raised_and_frees_the_slot():
    engine = Engine()

    def fail(channel):
        channel.put(1)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        _ = [number async for number in engine.complete(generate=fail)]
    assert [number async for number in engine.complete(2)] == [0, 1]
    await engine.close()


async def test_closing_the_iterator_stops_the_thread_and_frees_the_slot():
    engine = Engine()
    async with aclosing(engine.complete(10**9)) as numbers:
        assert await anext(numbers) == 0
    assert [number async for number in engine.complete(2)] == [0, 1]
    await engine.close()


async def test_closing_the_engine_ends_its_completions_and_unloads_what_nobody_else_uses():
    engine, other = Engine(), Engine()
    model = await engine.model()
    assert await other.model() is model
    numbers = engine.complete(10**9)
    await anext(numbers)
    await engine.close()
    with pytest.raises(UsageError, match="closed while it generated"):
        _ = [number async for number in numbers]
    assert model.is_loaded
    await other.close()
    assert not model.is_loaded


async def test_a_completion_whose_turn_comes_after_its_engine_was_closed_is_refused():
    engine, other = Engine(), Engine()
    running = other.complete(10**9)
    await anext(running)
    waiting = asyncio.ensure_future(anext(engine.complete(2)))
    for _ in range(10):
        await asyncio.sleep(0)
    await engine.close()
    await running.aclose()
    with pytest.raises(UsageError, match="the engine is closed"):
        await waiting
    assert [number async for number in other.complete(2)] == [0, 1]
    await other.close()

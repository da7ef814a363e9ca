"""Connections belong to the models that use them and to their event loop, and end with either."""

import asyncio
import os
import re
import subprocess
import sys
import textwrap
import threading
from contextlib import asynccontextmanager

import pytest

import rightcall as rc
import warm
from request.server import Server, head, serving, silent, whole
from rightcall.core.events import RetryStart
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.errors import TransportError
from rightcall.request.retry import Retry
from rightcall.transport import pool
from rightcall.transport.connection import HttpConnection
from transport.certificates import certified

CHAT = (
    b'{"id":"c","model":"m","choices":[{"index":0,"message":{"content":"Hi."},"finish_reason":"stop"}]}'
)
ANSWER = whole(CHAT)
PIECE = b'data: {"choices": [{"index": 0, "delta": {"content": "%d"}}]}\n\n'
END = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
ASKED = Request(messages=(user_text("Hi"),))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def held(released: asyncio.Event):
    """A stream that stays in its middle until it is released."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + b"transfer-encoding: chunked\r\n\r\n" + chunk(PIECE % 1))
        await writer.drain()
        await released.wait()
        writer.write(chunk(PIECE % 2) + chunk(END) + chunk(b""))
        await writer.drain()

    return answer


def model_at(server: Server, **options: object):
    return rc.connect(f"{server.url}|m", **options)


async def until(is_so) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(5):
        while not is_so():
            await asyncio.sleep(0.01)


STRICT = ("-W", "always::ResourceWarning", "-X", "dev")


async def python(code: str, *arguments: str, flags: tuple[str, ...] = STRICT, **environment: str) -> str:
    """What a program prints, having said nothing else."""
    started = warm.python(*warm.AGENT, flags=flags) if flags == STRICT else (sys.executable, *flags)
    ran = await asyncio.to_thread(
        subprocess.run,
        [*started, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    # On a busy machine, asyncio's debug mode tells which callbacks took long. That is not ours.
    said_so = re.sub(r"^Executing <.* took .* seconds\n", "", ran.stderr, flags=re.MULTILINE)
    assert (ran.returncode, said_so) == (0, "")
    return ran.stdout


SCRIPTS = {
    "run_sync": """
        import sys, rightcall as rc
        agent = rc.Agent(sys.argv[1])
        print(agent.run_sync("Hi").text)
    """,
    "asyncio.run": """
        import asyncio, sys, rightcall as rc
        agent = rc.Agent(sys.argv[1])
        print(asyncio.run(agent.run("Hi")).text)
    """,
    "both": """
        import asyncio, sys, rightcall as rc
        agent = rc.Agent(sys.argv[1])
        agent.run_sync("Hi")
        print(asyncio.run(agent.run("Hi")).text)
    """,
    "ask": """
        import sys, rightcall as rc
        print(rc.ask("Hi", model=sys.argv[1]))
    """,
    "async with": """
        import asyncio, sys, rightcall as rc
        async def main():
            async with rc.connect(sys.argv[1]) as model, rc.Agent(model) as agent:
                print((await agent.run("Hi")).text)
        asyncio.run(main())
    """,
    "a loop of one's own that is open to the end": """
        import asyncio, atexit, sys, rightcall as rc
        loop = asyncio.new_event_loop()
        atexit.register(loop.close)
        print(loop.run_until_complete(rc.Agent(sys.argv[1]).run("Hi")).text)
    """,
    "a loop in a thread of one's own": """
        import asyncio, sys, threading, rightcall as rc
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
        run = rc.Agent(sys.argv[1]).run("Hi")
        print(asyncio.run_coroutine_threadsafe(run, loop).result().text)
    """,
    "a stream that is left in its middle": """
        import asyncio, sys, rightcall as rc
        async def main():
            async for event in rc.Agent(sys.argv[1]).stream("Hi"):
                print("Hi.")
                return
        asyncio.run(main())
    """,
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
async def test_a_script_that_closes_nothing_ends_without_a_word(script):
    async with serving(ANSWER) as server:
        assert await python(script, f"{server.url}|m") == "Hi.\n"
        await until(lambda: server.open == 0)


@pytest.mark.parametrize("script", ["run_sync", "asyncio.run"])
async def test_so_it_does_where_connections_are_encrypted(script, tmp_path):
    async with serving(ANSWER, tls=certified(tmp_path)) as server:
        trusted = str(tmp_path / "certificate.pem")
        assert await python(SCRIPTS[script], f"{server.url}|m", SSL_CERT_FILE=trusted) == "Hi.\n"
        await until(lambda: server.open == 0)


COUNTED = """
    import asyncio, gc, os, sys, weakref
    import rightcall as rc

    agent, loops = rc.Agent(sys.argv[1]), []

    async def twice():
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await agent.run("Hi")
        await agent.run("Hi")

    def sockets():
        places = [f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd")]
        return sum(os.readlink(each).startswith("socket:") for each in places if os.path.exists(each))

    for _ in range(300):
        asyncio.run(twice())
    gc.collect()
    print(sockets(), sum(loop() is not None for loop in loops))
    for _ in range(300):
        agent.run_sync("Hi")
    print(sockets())
"""


async def test_three_hundred_event_loops_leave_no_socket_and_no_loop():
    async with serving(ANSWER) as server:
        printed = await python(COUNTED, f"{server.url}|m", flags=STRICT[:2])
        # The two of run_sync's loop, which goes on: one that wakes it up is a pair, and the connection.
        assert printed == "0 0\n3\n"
        assert (len(server.requests), server.connections) == (900, 301)
        await until(lambda: server.open == 0)


async def test_models_of_one_loop_share_connections():
    async with serving(ANSWER) as server:
        for _ in range(3):
            assert (await rc.Agent(f"{server.url}|m").run("Hi")).text == "Hi."
        assert (len(server.requests), server.connections) == (3, 1)


async def test_closing_one_model_leaves_the_stream_of_another_alone():
    released = asyncio.Event()
    async with serving(held(released), ANSWER) as server:
        one, other, unused = model_at(server), model_at(server), model_at(server)
        stream = one.stream(ASKED)
        first = await anext(stream)
        await rc.Agent(other).run("Hi")
        await other.close()
        await unused.close()
        released.set()
        async with asyncio.timeout(5):
            rest = [event async for event in stream]
        assert (first.text, rest[0].text, rest[-1].reply.text) == ("1", "2", "12")
        await one.close()


async def test_the_last_model_to_be_closed_closes_the_connections_and_can_be_asked_again():
    async with serving(ANSWER) as server:
        one, other = model_at(server), model_at(server)
        for model in (one, other, one):
            await rc.Agent(model).run("Hi")
        await one.close()
        assert (server.connections, server.open) == (1, 1)
        await other.close()
        await until(lambda: server.open == 0)
        await rc.Agent(one).run("Hi")
        await one.close()
        await until(lambda: server.open == 0)
        assert server.connections == 2


async def test_a_model_that_nobody_holds_any_more_keeps_nothing_open():
    async with serving(ANSWER) as server:
        other = model_at(server)
        await rc.Agent(other).run("Hi")
        await rc.Agent(model_at(server)).run("Hi")
        await other.close()
        await until(lambda: server.open == 0)


async def test_closing_a_model_ends_its_own_stream_with_an_error():
    released = asyncio.Event()
    async with serving(held(released)) as server:
        model = model_at(server)
        stream = model.stream(ASKED)
        await anext(stream)
        reading = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        await model.close()
        async with asyncio.timeout(5):
            with pytest.raises(TransportError, match="closed before the reply was complete"):
                await reading
        released.set()
        await until(lambda: server.open == 0)
        assert len(server.requests) == 1


async def test_closing_a_model_that_waits_for_an_answer_ends_the_wait():
    async with serving(silent) as server:
        model = model_at(server)
        reading = asyncio.ensure_future(anext(model.stream(ASKED)))
        await until(lambda: server.requests)
        await model.close()
        async with asyncio.timeout(5):
            with pytest.raises(TransportError, match="closed before the reply was complete"):
                await reading
        assert len(server.requests) == 1


async def test_a_model_that_is_closed_before_it_tries_again_does_not():
    async with serving(whole(b"{}", status=503)) as server:
        model = model_at(server, retry=Retry(base=40.0))
        stream = model.stream(ASKED)
        assert isinstance(await anext(stream), RetryStart)
        reading = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        await model.close()
        async with asyncio.timeout(5):
            with pytest.raises(TransportError, match="the model was closed before it was asked again"):
                await reading
        assert len(server.requests) == 1


async def test_a_wait_is_ended_from_another_thread_and_by_its_reader():
    async with serving(whole(b"{}", status=503)) as server:
        model = model_at(server, retry=Retry(base=40.0))
        stream = model.stream(ASKED)
        await anext(stream)
        reading = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        await asyncio.to_thread(lambda: asyncio.run(model.close()))
        async with asyncio.timeout(5):
            with pytest.raises(TransportError, match="the model was closed before it was asked again"):
                await reading
        again = model.stream(ASKED)
        await anext(again)
        async with asyncio.timeout(5):
            await again.aclose()


async def test_one_model_is_used_by_several_event_loops_at_once():
    async with serving(ANSWER) as server:
        agent = rc.Agent(model_at(server))
        together = threading.Barrier(4, timeout=10)

        async def several() -> list[str]:
            together.wait()
            runs = await asyncio.gather(*(agent.run("Hi") for _ in range(5)))
            return [run.text for run in runs]

        threads = [asyncio.to_thread(asyncio.run, several()) for _ in range(4)]
        assert await asyncio.gather(*threads) == [["Hi."] * 5] * 4
        await until(lambda: server.open == 0)


@asynccontextmanager
async def loop_elsewhere():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, 5)
        loop.close()


async def test_closing_a_model_ends_what_it_has_on_other_loops():
    released = asyncio.Event()
    async with serving(held(released)) as server, loop_elsewhere() as elsewhere:
        model = model_at(server)
        run = asyncio.run_coroutine_threadsafe(rc.Agent(model).run("Hi"), elsewhere)
        await until(lambda: server.requests)
        await asyncio.sleep(0.05)
        await model.close()
        async with asyncio.timeout(5):
            result = await asyncio.wrap_future(run)
        assert result.stop.reason == "error"
        released.set()
        await until(lambda: server.open == 0)


FORKED = """
    import os, sys
    import rightcall as rc

    agent = rc.Agent(sys.argv[1])

    def sockets():
        places = [f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd")]
        found = {os.readlink(each) for each in places if os.path.exists(each)}
        return {each for each in found if each.startswith("socket:")}

    agent.run_sync("Hi")
    before = sockets()
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    else:
        assert len(before - sockets()) == 1
    assert agent.run_sync("Hi").text == "Hi."
    print("child" if not child else "parent")
"""


async def test_a_forked_child_has_connections_of_its_own():
    async with serving(ANSWER) as server:
        # Since Python 3.12 a fork beside threads is warned of, which is what is tried here.
        flags = (*STRICT[:2], "-W", "ignore::DeprecationWarning")
        assert await python(FORKED, f"{server.url}|m", flags=flags) == "child\nparent\n"
        assert (len(server.requests), server.connections) == (3, 2)
        await until(lambda: server.open == 0)


CLOSED_BY_HAND = """
    import asyncio, gc, os, sys
    import rightcall as rc

    agent = rc.Agent(sys.argv[1])

    def sockets():
        places = [f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd")]
        return sum(os.readlink(each).startswith("socket:") for each in places if os.path.exists(each))

    for _ in range(20):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(agent.run("Hi"))
        loop.close()
    print(sockets())
"""


async def test_a_loop_that_is_closed_without_its_generators_leaves_one_connection_at_most():
    async with serving(ANSWER) as server:
        assert await python(CLOSED_BY_HAND, f"{server.url}|m", flags=()) == "1\n"


def test_threads_that_find_the_same_closed_loop_do_not_stumble_over_it(monkeypatch):
    class Raced(dict):
        """Shows a closed loop that another thread has just dropped."""

        def __iter__(self):
            yield closed

    closed = asyncio.new_event_loop()
    closed.close()
    monkeypatch.setattr(pool, "open_pools", Raced())

    async def opens() -> None:
        await (await pool.pool_here()).close()

    asyncio.run(opens())


async def test_closing_a_model_whose_reply_begins_in_that_moment_ends_it_too(monkeypatch):
    released = asyncio.Event()
    async with serving(ANSWER, held(released)) as server:
        other, model = model_at(server), model_at(server)
        await rc.Agent(other).run("Hi")  # keeps the connections open
        send = HttpConnection.send

        async def closed_as_it_comes(self, *arguments):
            await send(self, *arguments)
            await model.close()

        monkeypatch.setattr(HttpConnection, "send", closed_as_it_comes)
        async with asyncio.timeout(5):
            with pytest.raises(TransportError, match="closed before the reply was complete"):
                await anext(model.stream(ASKED))
        released.set()
        await other.close()


async def test_an_agent_closes_the_model_that_it_connected_and_no_other():
    async with serving(ANSWER) as server:
        model = model_at(server)
        async with rc.Agent(model) as agent:
            await agent.run("Hi")
        assert server.open == 1
        async with rc.Agent(f"{server.url}|m") as agent:
            await agent.run("Hi")
        assert (server.connections, server.open) == (1, 1)
        await model.close()
        await until(lambda: server.open == 0)
        async with rc.Agent(f"{server.url}|m") as agent:
            await agent.run("Hi")
        await until(lambda: server.open == 0)

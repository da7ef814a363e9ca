"""An event loop in a daemon thread: for code that cannot await, in forked children, and at the exit."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress

import pytest

from rightcall.background import BackgroundLoop
from rightcall.errors import UsageError


@pytest.fixture
def background():
    made = BackgroundLoop("test")
    yield made
    made.stop()


async def here():
    return threading.current_thread()


def test_it_starts_when_it_is_needed_and_ends_with_its_thread(background):
    background.stop()
    thread = background.run(here())
    assert (thread.name, thread.daemon) == ("rightcall: test", True)
    assert background.run(here()) is thread
    background.stop()
    assert not thread.is_alive()


def test_after_a_stop_it_starts_again(background):
    first = background.run(here())
    background.stop()
    assert background.run(here()) is not first


def test_what_it_runs_cannot_wait_for_it(background):
    async def nested():
        return background.run(here())

    with pytest.raises(UsageError, match="test inside something that it runs would wait for itself"):
        background.run(nested())


def test_a_thread_of_what_it_runs_can_wait_for_it(background):
    async def nested():
        return await asyncio.to_thread(background.run, here())

    assert background.run(nested()) is background.run(here())


def test_one_can_wait_for_another(background):
    other = BackgroundLoop("other")

    async def nested():
        return other.run(here())

    try:
        assert background.run(nested()).name == "rightcall: other"
    finally:
        other.stop()


def test_interrupting_the_wait_cancels_what_is_waited_for(background):
    begun, cancelled = threading.Event(), threading.Event()

    async def forever():
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def interrupt():
        begun.wait(5)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        background.run(forever())
    assert cancelled.wait(5)


def test_a_stop_cancels_what_is_left_and_ends_generators(background):
    told = []

    async def left():
        try:
            await asyncio.sleep(60)
        finally:
            told.append("task")

    async def generator():
        try:
            yield 1
        finally:
            told.append("generator")

    async def begin():
        background.kept = (asyncio.create_task(left()), generator())
        await anext(background.kept[1])

    background.run(begin())
    background.stop()
    assert told == ["task", "generator"]


def test_who_waits_for_something_when_it_is_stopped_waits_no_longer(background):
    begun = threading.Event()

    async def forever():
        begun.set()
        await asyncio.sleep(60)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(background.run, forever())
        assert begun.wait(5)
        background.stop()
        with pytest.raises(CancelledError):
            waiting.result(5)


def begin(function, *arguments):
    """A call in a thread: one that hangs fails its test and holds up nothing."""
    done = Future()

    def work():
        try:
            done.set_result(function(*arguments))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return done


def finished(function, *arguments):
    return begin(function, *arguments).result(5)


async def raises(error):
    await asyncio.sleep(0)
    raise error


async def raises_in_a_task(error):
    await asyncio.create_task(raises(error))


async def raises_in_a_group(error):
    async with asyncio.TaskGroup() as group:
        group.create_task(raises(error))
        group.create_task(asyncio.sleep(60))


async def raises_in_a_callback(error):
    def throw():
        raise error

    asyncio.get_running_loop().call_soon(throw)
    await asyncio.sleep(0.01)
    raise error


EXIT_WAYS = [raises, raises_in_a_task, raises_in_a_group, raises_in_a_callback]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("body", EXIT_WAYS, ids=lambda body: body.__name__)
def test_an_exit_comes_out_of_its_own_call_and_the_others_go_on(background, body, error):
    begun, go = threading.Event(), threading.Event()

    async def other():
        begun.set()
        while not go.is_set():
            await asyncio.sleep(0.001)
        return "went on"

    waiting = begin(background.run, other())
    assert begun.wait(5)
    with pytest.raises(type(error)) as caught:
        finished(background.run, body(error))
    assert caught.value is error
    go.set()
    assert waiting.result(5) == "went on"
    assert finished(background.run, here()).is_alive()


def test_a_loop_that_something_stops_goes_on(background):
    async def stops():
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0.01)
        return "went on"

    assert finished(background.run, stops()) == "went on"
    assert finished(background.run, here()).is_alive()


def test_when_the_loop_breaks_who_waits_is_told_and_the_next_call_gets_another(background):
    begun = threading.Event()

    async def other():
        asyncio.current_task()._log_destroy_pending = False
        begun.set()
        await asyncio.sleep(60)

    async def breaks():
        # What a tool does that makes itself a daemon: it closes every descriptor it finds.
        asyncio.current_task()._log_destroy_pending = False
        os.close(asyncio.get_running_loop()._selector.fileno())
        await asyncio.sleep(60)

    first = finished(background.run, here())
    waiting = begin(background.run, other())
    assert begun.wait(5)
    with pytest.raises(UsageError, match="test: the event loop ended before this was done: OSError"):
        finished(background.run, breaks())
    with pytest.raises(UsageError, match="the event loop ended") as caught:
        waiting.result(5)
    assert isinstance(caught.value.__cause__, OSError)
    assert finished(background.run, here()) is not first
    first.join(5)
    assert not first.is_alive()


def test_who_waits_for_something_that_ignores_the_stop_is_told(background, monkeypatch):
    monkeypatch.setattr("rightcall.background._CANCEL_SECONDS", 0.05)
    begun = threading.Event()

    async def deaf():
        asyncio.current_task()._log_destroy_pending = False
        begun.set()
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    waiting = begin(background.run, deaf())
    assert begun.wait(5)
    background.stop()
    with pytest.raises(UsageError, match="test: the event loop ended before this was done"):
        waiting.result(5)


def interrupted(body: str) -> tuple[float, int, str, str]:
    """A program that gets a Ctrl-C when it says that it is ready: how long it then took, and its end."""
    code = (
        "import asyncio, signal, threading, time\nfrom rightcall.background import run_sync\n"
        "async def forever():\n    print('ready', flush=True)\n    await asyncio.sleep(60)\n" + body
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            begun = time.monotonic()
            child.send_signal(signal.SIGINT)
            out, errors = child.communicate(timeout=10)
            return time.monotonic() - begun, child.returncode, out, errors
        finally:
            child.kill()


WAITS = {
    "alone": "run_sync(forever())\n",
    "inside asyncio.run": "async def main():\n    run_sync(forever())\nasyncio.run(main())\n",
    "in a task inside asyncio.run": (
        "async def task():\n    run_sync(forever())\n"
        "async def main():\n    await asyncio.gather(task(), asyncio.sleep(60))\nasyncio.run(main())\n"
    ),
}


@pytest.mark.parametrize("body", WAITS.values(), ids=WAITS)
def test_ctrl_c_ends_the_wait_at_once(body):
    seconds, code, _, errors = interrupted(body)
    assert (code, errors.splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt")
    assert seconds < 3


def test_after_the_wait_ctrl_c_is_asyncios_again():
    body = (
        "async def nothing():\n    pass\n"
        "async def main():\n    run_sync(nothing())\n    try:\n        await forever()\n"
        "    except asyncio.CancelledError:\n        print('cancelled')\n        raise\n"
        "asyncio.run(main())\n"
    )
    _, code, out, _ = interrupted(body)
    assert (code, out) == (-signal.SIGINT, "cancelled\n")


def test_a_program_that_handles_ctrl_c_itself_goes_on_doing_so():
    body = (
        "signal.signal(signal.SIGINT, lambda *_: done.set())\ndone = threading.Event()\n"
        "async def until():\n    print('ready', flush=True)\n"
        "    while not done.is_set():\n        await asyncio.sleep(0.001)\n    return 'finished'\n"
        "async def main():\n    print(run_sync(until()))\nasyncio.run(main())\n"
    )
    _, code, out, errors = interrupted(body)
    assert (code, out, errors) == (0, "finished\n", "")


def test_a_forked_child_has_a_loop_of_its_own_and_leaves_the_parents_alone(background):
    thread = background.run(here())
    read, write = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 and later warn of forking beside threads, which is what this is about.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            again = background.run(here())
            background.stop()
            os.write(write, b"good" if again is not thread else b"same")
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        assert answer.read() == b"good"
    os.waitpid(child, 0)
    assert background.run(here()) is thread


def script(body: str) -> tuple[int, str, str]:
    code = (
        "import asyncio, os, sys, threading, time\nfrom rightcall.background import BackgroundLoop\n"
        f"background = BackgroundLoop('test')\n{body}"
    )
    options = ["-X", "dev", "-W", "always::ResourceWarning"]
    done = subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    return done.returncode, done.stdout, done.stderr


EXITS = {
    "idle": "background.run(asyncio.sleep(0))\n",
    "never used": "",
    "a task is left": (
        "async def begin():\n    global task\n    task = asyncio.create_task(asyncio.sleep(60))\n"
        "background.run(begin())\n"
    ),
    "a task that fails when it is cancelled": (
        "async def fail():\n    try:\n        await asyncio.sleep(60)\n    finally:\n        1 / 0\n"
        "async def begin():\n    asyncio.create_task(fail())\n    await asyncio.sleep(0)\n"
        "background.run(begin())\n"
    ),
    "a socket is left open": (
        "async def serve():\n"
        "    async with await asyncio.start_server(lambda *_: None, '127.0.0.1', 0) as server:\n"
        "        ready.set()\n        await server.serve_forever()\n"
        "ready = threading.Event()\n"
        "async def begin():\n    global task\n    task = asyncio.create_task(serve())\n"
        "background.run(begin())\nready.wait()\n"
    ),
    "a forked child": (
        "background.run(asyncio.sleep(0))\nimport warnings\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "child = os.fork()\nbackground.run(asyncio.sleep(0))\n"
        "if child:\n    os.waitpid(child, 0)\n"
    ),
    "run_sync": (
        "from rightcall.background import run_sync\nasync def one():\n    return 1\n"
        "assert run_sync(one()) == 1\n"
    ),
}


@pytest.mark.parametrize("body", EXITS.values(), ids=EXITS)
def test_the_interpreter_exits_without_a_word(body):
    assert script(body) == (0, "", "")


def test_what_blocks_the_loop_does_not_hold_up_the_exit():
    begun = time.monotonic()
    code, _, errors = script(
        "async def begin():\n    asyncio.get_running_loop().call_later(0.1, time.sleep, 60)\n"
        "background.run(begin())\ntime.sleep(0.3)\n"
    )
    assert (code, errors) == (0, "")
    assert time.monotonic() - begun < 15

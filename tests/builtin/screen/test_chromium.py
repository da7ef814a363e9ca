"""A real browser, on a page of our own, moved through the tool."""

import json
import shutil
import struct

import pytest

import rightcall as rc
from builtin.net.kit import answer, site
from rightcall import builtin

pytest.importorskip("playwright", reason="needs playwright: make test WHAT=browser installs it")
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs a Chromium: make test WHAT=browser installs Debian's"
)
PAGE = b"""<!doctype html><title>Form</title><body style="margin:0;height:3000px">
<input id=name style="position:absolute;left:10px;top:10px;width:200px;height:20px">
<button style="position:absolute;left:10px;top:50px;width:100px;height:30px"
 onclick="document.title = document.getElementById('name').value">Go</button>
<a href="http://evil.example/" style="position:absolute;left:10px;top:100px">out</a>
<img src="http://evil.example/pixel.png"><script>new WebSocket("ws://evil.example/")</script>
"""


async def use(tool, **arguments):
    call = rc.Call(id="c", name="computer", arguments=json.dumps(arguments))
    (done,) = await rc.run_calls([call], [tool])
    assert done.outcome.kind == "returned", done
    return done.outcome.value


def size_of(png: bytes) -> tuple[int, int]:
    return struct.unpack(">II", png[16:24])


async def test_a_form_is_filled_in_and_sent_by_either_vendors_actions():
    async with (
        site({"/": answer(PAGE)}) as here,
        builtin.browser(here.url(), width=400, height=300, executable=CHROMIUM) as screen,
    ):
        claude = builtin.computer(screen, approval=False, settle=0.05)
        await use(claude, action="left_click", coordinate=[50, 20])
        await use(claude, action="type", text="Ann")
        await use(claude, action="key", text="ctrl+a BackSpace")
        await use(claude, action="type", text="Bob")
        shown = await use(claude, action="left_click", coordinate=[50, 65])
        assert size_of(shown.data) == (400, 300)
        assert await screen.page.title() == "Bob"
        zoomed = await use(claude, action="zoom", region=[0, 0, 100, 50])
        assert size_of(zoomed.data) == (100, 50)
        gpt = builtin.computer(screen, signature="openai", approval=False, settle=0.05)
        await use(
            gpt,
            actions=[
                {"type": "double_click", "x": 50, "y": 20},
                {"type": "keypress", "keys": ["BACKSPACE"]},
                {"type": "type", "text": "Eve"},
                {"type": "click", "x": 50, "y": 65, "button": "left"},
                {"type": "scroll", "x": 50, "y": 100, "scroll_x": 0, "scroll_y": 200},
            ],
        )
        assert await screen.page.title() == "Eve"
        assert await screen.page.evaluate("window.scrollY") == 200


async def test_a_page_reaches_no_other_host():
    asked = []
    async with (
        site({"/": answer(PAGE)}) as here,
        builtin.browser(here.url(), executable=CHROMIUM) as screen,
    ):
        screen.page.on("requestfinished", lambda request: asked.append(request.url))
        tool = builtin.computer(screen, approval=False, settle=0.3)
        await use(tool, action="left_click", coordinate=[15, 108])
        assert await screen.page.evaluate("fetch('http://evil.example/').catch(() => 'refused')") == (
            "refused"
        )
    assert not any("evil" in url for url in asked)

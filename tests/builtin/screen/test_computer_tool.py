import json
from typing import Any

import pytest

import rightcall as rc
from rightcall import builtin
from rightcall.builtin.screen.computer_tool import key_named
from rightcall.core.parts import Media
from rightcall.core.request import Request
from rightcall.wire import anthropic, openai_responses


class Recorder:
    """A driver that writes down what it is told."""

    size = (800, 600)

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.broken = ""

    def _note(self, *what: Any) -> None:
        self.done.append(what)
        if what[0] == self.broken:
            raise RuntimeError("the screen went dark")

    async def screenshot(self, region=None) -> bytes:
        self._note("screenshot", region)
        return b"\x89PNG\r\n\x1a\n"

    async def move(self, x, y) -> None:
        self._note("move", x, y)

    async def button_down(self, button, count=1) -> None:
        self._note("down", button, count)

    async def button_up(self, button, count=1) -> None:
        self._note("up", button, count)

    async def scroll(self, right, down) -> None:
        self._note("scroll", right, down)

    async def type(self, text) -> None:
        self._note("type", text)

    async def key_down(self, key) -> None:
        self._note("key down", key)

    async def key_up(self, key) -> None:
        self._note("key up", key)


async def done(signature: str, *, broken: str = "", **arguments: Any) -> tuple[list[Any], Any]:
    """What the driver was told, without the picture at the end, and what came of it."""
    driver = Recorder()
    driver.broken = broken
    tool = builtin.computer(driver, signature=signature, approval=False, settle=0)
    call = rc.Call(id="c", name="computer", arguments=json.dumps(arguments))
    (result,) = await rc.run_calls([call], [tool])
    if driver.done and driver.done[-1] == ("screenshot", None):
        driver.done.pop()
    return driver.done, result.outcome


CLICK = [("move", 3, 4), ("down", "left", 1), ("up", "left", 1)]
ANTHROPIC = {
    "left_click": ({"coordinate": [3, 4]}, CLICK),
    "right_click": ({}, [("move", 0, 0), ("down", "right", 1), ("up", "right", 1)]),
    "double_click": ({"coordinate": [3, 4]}, [*CLICK, ("down", "left", 2), ("up", "left", 2)]),
    "mouse_move": ({"coordinate": [5, 6]}, [("move", 5, 6)]),
    "left_mouse_down": ({}, [("down", "left", 1)]),
    "left_mouse_up": ({}, [("up", "left", 1)]),
    "left_click_drag": (
        {"start_coordinate": [1, 2], "coordinate": [3, 4]},
        [("move", 1, 2), ("down", "left", 1), ("move", 3, 4), ("up", "left", 1)],
    ),
    "type": ({"text": "a+b\n"}, [("type", "a+b\n")]),
    "key": (
        {"text": "ctrl+s Return"},
        [
            ("key down", "Control"),
            ("key down", "s"),
            ("key up", "s"),
            ("key up", "Control"),
            ("key down", "Enter"),
            ("key up", "Enter"),
        ],
    ),
    "hold_key": ({"text": "Down", "duration": 0}, [("key down", "ArrowDown"), ("key up", "ArrowDown")]),
    "scroll": (
        {"coordinate": [3, 4], "scroll_direction": "up", "scroll_amount": 2, "text": "shift"},
        [("move", 3, 4), ("key down", "Shift"), ("scroll", 0, -200), ("key up", "Shift")],
    ),
    "wait": ({"duration": 0}, []),
    "screenshot": ({}, []),
}


@pytest.mark.parametrize("action", ANTHROPIC)
async def test_what_anthropics_models_ask_for_is_done(action):
    given, movements = ANTHROPIC[action]
    told, outcome = await done("anthropic", action=action, **given)
    assert told == movements
    assert outcome.value == Media(b"\x89PNG\r\n\x1a\n", "image/png")


async def test_a_zoom_shows_a_part_of_the_screen():
    told, _ = await done("anthropic", action="zoom", region=[0, 0, 400, 300])
    assert told == [("screenshot", (0, 0, 400, 300))]


async def test_the_pointers_place_is_told():
    _, outcome = await done("anthropic", action="cursor_position")
    assert outcome.value == "X=0,Y=0"


OPENAI = {
    "click": ({"x": 3, "y": 4, "button": "left"}, CLICK),
    "double_click": ({"x": 3, "y": 4}, [*CLICK, ("down", "left", 2), ("up", "left", 2)]),
    "move": ({"x": 5, "y": 6}, [("move", 5, 6)]),
    "drag": (
        {"path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]},
        [("move", 1, 2), ("down", "left", 1), ("move", 3, 4), ("up", "left", 1)],
    ),
    "scroll": (
        {"x": 3, "y": 4, "scroll_x": 0, "scroll_y": 120, "keys": None},
        [("move", 3, 4), ("scroll", 0, 120)],
    ),
    "type": ({"text": "hi"}, [("type", "hi")]),
    "keypress": (
        {"keys": ["CTRL", "A"]},
        [("key down", "Control"), ("key down", "A"), ("key up", "A"), ("key up", "Control")],
    ),
    "screenshot": ({}, []),
}


@pytest.mark.parametrize("action", OPENAI)
async def test_what_openais_models_ask_for_is_done(action):
    given, movements = OPENAI[action]
    told, outcome = await done("openai", actions=[{"type": action, **given}])
    assert told == movements
    assert outcome.value.media_type == "image/png"


REFUSED = {
    "off the screen": (
        "anthropic",
        {"action": "left_click", "coordinate": [800, 4]},
        "not on the screen",
    ),
    "no such key": ("anthropic", {"action": "key", "text": "ctrl+Foo"}, "no key 'foo'"),
    "no text": ("anthropic", {"action": "type"}, "type needs text"),
    "too long": ("anthropic", {"action": "wait", "duration": 3600}, "at most 60"),
    "a region that is none": ("anthropic", {"action": "zoom", "region": [9, 9, 1, 1]}, "A region is"),
    "the second of two": (
        "openai",
        {"actions": [{"type": "click", "x": 1, "y": 1}, {"type": "click", "x": 1, "y": 601}]},
        "not on the screen",
    ),
    "a key that is none": (
        "openai",
        {"actions": [{"type": "move", "x": 1, "y": 1}, {"type": "keypress", "keys": ["FOO"]}]},
        "no key",
    ),
}


@pytest.mark.parametrize(("signature", "given", "words"), REFUSED.values(), ids=REFUSED)
async def test_what_makes_no_sense_is_refused_before_anything_moves(signature, given, words):
    told, outcome = await done(signature, **given)
    assert told == []
    assert words.lower() in outcome.message.lower()


async def test_keys_and_buttons_go_up_whatever_happens():
    told, outcome = await done(
        "anthropic", broken="scroll", action="scroll", scroll_direction="down", text="ctrl"
    )
    assert outcome.kind == "failed"
    assert told[-1] == ("key up", "Control")


def test_a_person_is_asked_unless_said_otherwise():
    assert builtin.computer(Recorder()).approval
    assert not builtin.computer(Recorder(), approval=False).approval
    with pytest.raises(
        rc.errors.UsageError, match="signature must be 'anthropic' or 'openai', not 'gemini'"
    ):
        builtin.computer(Recorder(), signature="gemini")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Return", "Enter"),
        ("Page_Down", "PageDown"),
        ("KP_7", "7"),
        ("KP_Enter", "Enter"),
        ("Control_L", "Control"),
        ("ARROWLEFT", "ArrowLeft"),
        ("super", "Meta"),
        ("f5", "F5"),
        ("é", "é"),
    ],
)
def test_a_key_has_many_names(name, key):
    assert key_named(name) == key


def test_each_vendor_gets_its_own_definition():
    spec = builtin.computer(Recorder()).spec
    request = Request(messages=(rc.User((rc.models.Text("Hi"),)),), specs=(spec,))
    sent = anthropic.encode(request, model="m", stream=True)
    (tool,) = json.loads(sent.body)["tools"]
    assert (tool["type"], tool["display_width_px"], tool["enable_zoom"]) == (
        "computer_20251124",
        800,
        True,
    )
    assert sent.headers["anthropic-beta"] == "computer-use-2025-11-24"
    (tool,) = json.loads(openai_responses.encode(request, model="m", stream=True).body)["tools"]
    assert (tool["type"], tool["name"]) == ("function", "computer")
    spec = builtin.computer(Recorder(), signature="openai").spec
    request = Request(messages=request.messages, specs=(spec,))
    (tool,) = json.loads(openai_responses.encode(request, model="m", stream=True).body)["tools"]
    assert tool == {"type": "computer"}

"""Translates the actions of vendors' models into calls of a driver.

Anthropic's models send one action with its own fields,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/computer-use-tool; OpenAI's send a list of
them, https://platform.openai.com/docs/guides/tools-computer-use.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from rightcall.builtin.screen.driver import Button, Driver, Region, key_named
from rightcall.errors import ToolFailure

Given: TypeAlias = Mapping[str, Any]

_NOTCH = 100
"""Pixels per step of a mouse wheel."""
_MOST_NOTCHES = 100
_MOST_REPEATS = 100
_LONGEST_WAIT = 60.0
_PAUSE = 1.0
"""Seconds for OpenAI's ``wait``, which has no duration."""
_DRAG_STEP = 0.01
_CLICKS: Mapping[str, tuple[Button, int]] = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
_BUTTONS: Mapping[str, Button] = {
    "left": "left",
    "right": "right",
    "wheel": "middle",
    "middle": "middle",
    "back": "back",
    "forward": "forward",
}
_DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class Hands:
    """A driver and its pointer's position, which vendors' clicks may omit."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.at = (0, 0)

    async def anthropic(self, action: str, given: Given) -> Region | None:
        """Execute one of Anthropic's actions; returns the part of the screen to show afterwards."""
        if action == "zoom":
            return self._region(needed(given, action, "region"))
        if action in _CLICKS:
            button, count = _CLICKS[action]
            await self.click(self.place(given.get("coordinate")), button, count, _combo(given))
        else:
            await _ANTHROPIC[action](self, given)
        return None

    async def openai(self, given: Given) -> None:
        """Execute one of OpenAI's actions."""
        kind = given.get("type")
        act = _OPENAI.get(kind) if isinstance(kind, str) else None
        if act is None:
            raise ToolFailure(f"There is no action {kind!r}. Actions: {', '.join(_OPENAI)}.")
        await act(self, given)

    def check(self, given: Given) -> None:
        """Refuse an invalid list of OpenAI's actions before the first is executed."""
        for point in [given] if "x" in given else given.get("path") or ():
            self.point(point)
        for key in given.get("keys") or ():
            key_named(key)

    async def move(self, point: tuple[int, int]) -> None:
        """Move the pointer."""
        await self.driver.move(*point)
        self.at = point

    async def click(
        self, point: tuple[int, int], button: Button, count: int, held: Sequence[str]
    ) -> None:
        """Click there ``count`` times, with these keys held."""
        await self.move(point)
        async with self._holding(held):
            for press in range(1, count + 1):
                await self.driver.button_down(button, press)
                await self.driver.button_up(button, press)

    async def drag(self, path: Sequence[tuple[int, int]], held: Sequence[str] = ()) -> None:
        """Drag along a path, with these keys held."""
        if len(path) < 2:  # noqa: PLR2004 - from somewhere to somewhere
            raise ToolFailure("A drag needs a path of at least two points.")
        await self.move(path[0])
        async with self._holding(held):
            await self.driver.button_down("left")
            try:
                for point in path[1:]:
                    await asyncio.sleep(_DRAG_STEP)
                    await self.move(point)
            finally:
                await self.driver.button_up("left")

    async def scroll(self, point: tuple[int, int], turn: tuple[int, int], held: Sequence[str]) -> None:
        """Turn the wheel there, with these keys held."""
        await self.move(point)
        async with self._holding(held):
            await self.driver.scroll(*turn)

    async def press(self, keys: Sequence[str], seconds: float = 0.0) -> None:
        """Press keys together, and release them after that many seconds."""
        async with self._holding(keys):
            await asyncio.sleep(seconds)

    @asynccontextmanager
    async def _holding(self, keys: Sequence[str]) -> AsyncIterator[None]:
        """Hold keys meanwhile. They are always released: a stuck Control breaks everything after it."""
        down: list[str] = []
        try:
            for key in [key_named(name) for name in keys]:
                await self.driver.key_down(key)
                down.append(key)
            yield
        finally:
            for key in reversed(down):
                await self.driver.key_up(key)

    def place(self, coordinate: Any) -> tuple[int, int]:
        """A point on the screen; by default the pointer's position."""
        return self.at if coordinate is None else self._inside(*coordinate)

    def point(self, given: Given) -> tuple[int, int]:
        """A point with x and y."""
        x, y = given.get("x"), given.get("y")
        if not isinstance(x, int | float) or not isinstance(y, int | float):
            raise ToolFailure("A point needs x and y, in pixels.")
        return self._inside(round(x), round(y))

    def _inside(self, x: int, y: int) -> tuple[int, int]:
        width, height = self.driver.size
        if not (0 <= x < width and 0 <= y < height):
            raise ToolFailure(f"({x}, {y}) is not on the screen, which is {width} by {height} pixels.")
        return x, y

    def _region(self, region: Sequence[int]) -> Region:
        left, top, right, bottom = region
        width, height = self.driver.size
        if not (0 <= left < right <= width and 0 <= top < bottom <= height):
            raise ToolFailure(
                "A region is [left, top, right, bottom] on the screen, which is "
                f"{width} by {height} pixels."
            )
        return left, top, right, bottom


async def _type(hands: Hands, given: Given) -> None:
    await hands.driver.type(needed(given, "type", "text"))


async def _key(hands: Hands, given: Given) -> None:
    # Successive key presses are separated by spaces: "ctrl+a Delete".
    chords = [_chord(word) for word in needed(given, "key", "text").split()]
    for _ in range(_within(given.get("repeat") or 1, "repeat", _MOST_REPEATS)):
        for chord in chords:
            await hands.press(chord)


async def _hold_key(hands: Hands, given: Given) -> None:
    seconds = _within(needed(given, "hold_key", "duration"), "duration", _LONGEST_WAIT)
    await hands.press(_chord(needed(given, "hold_key", "text")), seconds)


async def _wait(_: Hands, given: Given) -> None:
    await asyncio.sleep(_within(given.get("duration", _PAUSE), "duration", _LONGEST_WAIT))


async def _turn(hands: Hands, given: Given) -> None:
    right, down = _DIRECTIONS[needed(given, "scroll", "scroll_direction")]
    notches = _within(given.get("scroll_amount", 3), "scroll_amount", _MOST_NOTCHES)
    turn = (round(right * notches * _NOTCH), round(down * notches * _NOTCH))
    await hands.scroll(hands.place(given.get("coordinate")), turn, _combo(given))


async def _drag_to(hands: Hands, given: Given) -> None:
    start = hands.place(given.get("start_coordinate"))
    end = hands.place(needed(given, "left_click_drag", "coordinate"))
    await hands.drag([start, end], _combo(given))


async def _nothing(_: Hands, __: Given) -> None:
    return


Act: TypeAlias = Callable[[Hands, Given], Awaitable[None]]

_ANTHROPIC: Mapping[str, Act] = {
    "screenshot": _nothing,
    "cursor_position": _nothing,
    "key": _key,
    "hold_key": _hold_key,
    "type": _type,
    "wait": _wait,
    "scroll": _turn,
    "left_click_drag": _drag_to,
    "mouse_move": lambda hands, given: hands.move(
        hands.place(needed(given, "mouse_move", "coordinate"))
    ),
    "left_mouse_down": lambda hands, _: hands.driver.button_down("left"),
    "left_mouse_up": lambda hands, _: hands.driver.button_up("left"),
}
ACTIONS = (*_ANTHROPIC, *_CLICKS, "zoom")
"""What Anthropic's models ask for."""

_OPENAI: Mapping[str, Act] = {
    "screenshot": _nothing,
    "wait": _wait,
    "type": _type,
    "move": lambda hands, given: hands.move(hands.point(given)),
    "click": lambda hands, given: hands.click(
        hands.point(given),
        _BUTTONS.get(given.get("button") or "left", "left"),
        1,
        given.get("keys") or (),
    ),
    "double_click": lambda hands, given: hands.click(
        hands.point(given), "left", 2, given.get("keys") or ()
    ),
    "drag": lambda hands, given: hands.drag(
        [hands.point(point) for point in given.get("path") or ()], given.get("keys") or ()
    ),
    "scroll": lambda hands, given: hands.scroll(
        hands.point(given),
        (given.get("scroll_x") or 0, given.get("scroll_y") or 0),
        given.get("keys") or (),
    ),
    "keypress": lambda hands, given: hands.press(given.get("keys") or ()),
}


def needed(given: Given, action: str, name: str) -> Any:
    """A required field of the action."""
    value = given.get(name)
    if value is None:
        raise ToolFailure(f"{action} needs {name}.")
    return value


def _combo(given: Given) -> list[str]:
    """The keys held during a pointer action."""
    text = given.get("text")
    return _chord(text) if isinstance(text, str) and text else []


def _chord(text: str) -> list[str]:
    """Splits ``ctrl+shift+t`` into keys; a plus by itself is a key."""
    return [key_named(name) for name in text.split("+")] if len(text) > 1 else [key_named(text)]


def _within(value: float, name: str, most: float) -> Any:
    if not 0 <= value <= most:
        raise ToolFailure(f"{name} must be at most {most:g}, not {value:g}.")
    return value

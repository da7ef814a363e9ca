"""The interface behind the computer tool: a pointer, a keyboard and a screen."""

import re
from typing import Literal, Protocol, TypeAlias

from rightcall.errors import ToolFailure

Button: TypeAlias = Literal["left", "middle", "right", "back", "forward"]
Region: TypeAlias = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels of the screen."""


class Driver(Protocol):
    """A computer in eight operations; all actions of vendors' models are made of these.

    Keys have the names that a browser gives them (``KeyboardEvent.key``): ``a``, ``Enter``, ``Control``.
    """

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen, in pixels."""
        ...

    async def screenshot(self, region: Region | None = None) -> bytes:
        """The screen, or a part of it, as PNG."""
        ...

    async def move(self, x: int, y: int) -> None:
        """Move the pointer there."""
        ...

    async def button_down(self, button: Button, count: int = 1) -> None:
        """Press a button where the pointer is; ``count`` is 2 for the second press of a double click."""
        ...

    async def button_up(self, button: Button, count: int = 1) -> None:
        """Release a button."""
        ...

    async def scroll(self, right: int, down: int) -> None:
        """Turn the wheel by that many pixels, where the pointer is."""
        ...

    async def type(self, text: str) -> None:
        """Type a text as it is."""
        ...

    async def key_down(self, key: str) -> None:
        """Press a key."""
        ...

    async def key_up(self, key: str) -> None:
        """Release a key."""
        ...


_NAMES = {
    "alt": "Alt",
    "backspace": "Backspace",
    "capslock": "CapsLock",
    "cmd": "Meta",
    "command": "Meta",
    "control": "Control",
    "ctrl": "Control",
    "del": "Delete",
    "delete": "Delete",
    "down": "ArrowDown",
    "end": "End",
    "enter": "Enter",
    "esc": "Escape",
    "escape": "Escape",
    "home": "Home",
    "insert": "Insert",
    "left": "ArrowLeft",
    "meta": "Meta",
    "minus": "-",
    "next": "PageDown",
    "option": "Alt",
    "pagedown": "PageDown",
    "pageup": "PageUp",
    "period": ".",
    "plus": "+",
    "prior": "PageUp",
    "return": "Enter",
    "right": "ArrowRight",
    "shift": "Shift",
    "slash": "/",
    "space": " ",
    "super": "Meta",
    "tab": "Tab",
    "up": "ArrowUp",
    "win": "Meta",
}
_SIDE = re.compile(r"(?<=[a-z])[_ ]?[lr]$")
_FUNCTION = re.compile(r"f([1-9]|1[0-9]|2[0-4])")


def key_named(name: str) -> str:
    """The canonical name of a key: ``Page_Down`` and ``KP_0`` as in xdotool, ``ESC``, ``a``."""
    if len(name) == 1:
        return name
    plain = name.strip().lower().removeprefix("arrow").replace("_", "").replace(" ", "")
    plain = plain.removeprefix("kp") if plain not in _NAMES else plain
    if len(plain) == 1:
        return plain
    found = _NAMES.get(plain) or _NAMES.get(_SIDE.sub("", plain))
    if found is None and _FUNCTION.fullmatch(plain):
        found = plain.upper()
    if found is None:
        raise ToolFailure(
            f"There is no key {name!r}. Name keys as Enter, ctrl, alt, Tab, F5, Down or a."
        )
    return found

"""A gateway's background work: it writes spend, and reloads changed files."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from rightcall.errors import RightcallError
from rightcall.log import gateway_logger
from rightcall.serve.gateway.allowance import today
from rightcall.serve.gateway.gateway import Gateway
from rightcall.serve.gateway.keys import Keys
from rightcall.serve.gateway.settings import Settings

Read: TypeAlias = Callable[[], tuple[Settings, Keys]]
"""Reads the files again. Raises UsageError if they cannot be used."""
_EVERY = 1.0


class Background:
    """Runs the background work of a gateway."""

    def __init__(self, gateway: Gateway, read: Read, files: tuple[Path, ...]) -> None:
        self._gateway = gateway
        self._read = read
        self._files = files
        self._seen = self._look()
        self._asked = asyncio.Event()

    def reload(self) -> None:
        """Read the files again, changed or not."""
        self._asked.set()

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), _EVERY)
            now = await asyncio.to_thread(self._look)
            if self._asked.is_set() or now != self._seen:
                self._asked.clear()
                self._seen = now
                await self._take_up()
            await self._write_down()

    def _look(self) -> tuple[object, ...]:
        """The state of the files, to detect changes; a missing file may be created later."""
        named = self._gateway.settings.files()
        return tuple((path, _state_of(path)) for path in (*self._files, *named))

    async def _take_up(self) -> None:
        try:
            settings, keys = await asyncio.to_thread(self._read)
            await self._gateway.apply(settings, keys)
        except RightcallError as error:
            gateway_logger.warning(
                "the files were changed and cannot be used; it goes on as before: %s", error
            )
        else:
            gateway_logger.warning("took up the changed configuration: %d models", len(settings.models))

    async def _write_down(self) -> None:
        try:
            await asyncio.to_thread(self._gateway.spend.flush, today(time.time()))
        except Exception as error:  # noqa: BLE001 - of any database; it is tried again
            gateway_logger.warning("spend could not be written, and is kept: %s", type(error).__name__)


def _state_of(path: Path) -> object:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path's stat says the same
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

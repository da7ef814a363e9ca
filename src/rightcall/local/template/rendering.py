"""Renders a chat template, within limits of time, memory and output size.

A template comes with a model, from anyone, and can loop or grow without end. So it is rendered in a
child process (``rightcall.bounded_child``), which the system ends at the deadline, and refuses more
memory than it may have. This module is both sides of it: ``render`` asks, ``main`` answers.
"""

import logging
import marshal
import socket
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import cache
from typing import Any

from jinja2.exceptions import TemplateError
from msgspec import Struct

from rightcall.bounded_child import (
    FIRST_KIND,
    HAS_CHILDREN,
    Children,
    answer_requests,
    limit_growth,
    limit_memory,
    send,
    set_alarm,
)
from rightcall.local.template.sandbox import TemplateRefusal, compile_template, strftime

_LOG = logging.getLogger("rightcall.local")

RENDERED = FIRST_KIND
FAILED = FIRST_KIND + 1
"""The kinds of frames: the text, or what went wrong."""

_RAISED = (
    TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RuntimeError,
)
"""The exceptions that a template's own code can raise."""
_UNTRUSTED = "; such a template is not to be trusted."


class Bounds(Struct, frozen=True, kw_only=True):
    """The limits of one rendering."""

    seconds: float = 5.0
    characters: int = 16_000_000
    """Characters of the prompt. Ten times what a model can read."""
    memory: int = 512_000_000
    """Bytes that it may take at any one time. A text that is made longer with each of a thousand
    messages, up to half a million characters, takes much less."""


DEFAULT_BOUNDS = Bounds()


class RenderError(RuntimeError):
    """A template refused, failed or exceeded its limits; the message says which."""


_CHILDREN = Children(__name__, work="renders chat templates")


def render(text: str, variables: dict[str, Any], moment: datetime, bounds: Bounds | None) -> str:
    """The rendered template; ``variables`` are of JSON's types. Raises RenderError.

    Without bounds it is rendered in this process.
    """
    if bounds is None or not _can_hold_bounds():
        try:
            return render_here(text, variables, moment)
        except MemoryError:
            raise RenderError("it fails: MemoryError") from None
    limits = (bounds.seconds, bounds.characters, bounds.memory)
    request = marshal.dumps((text, variables, moment.isoformat(), moment.tzname(), limits))
    try:
        answer = _CHILDREN.ask(request, bounds.seconds)
    except (OSError, RuntimeError) as error:
        # Where Python is embedded, sys.executable may be another program.
        raise RenderError(
            f"it is rendered in a child process, which did not start from {sys.executable!r}: {error}. "
            "bounds=None renders a template that you trust in this process"
        ) from error
    if answer.is_late:
        raise RenderError(f"it was still not rendered after {bounds.seconds:g} s{_UNTRUSTED}")
    if answer.lacked_memory:
        raise RenderError(f"it builds more than {bounds.memory / 1e6:,.0f} MB{_UNTRUSTED}")
    if answer.exit_code is not None:
        raise RenderError(f"it ends the process that renders it, with {answer.exit_code}{_UNTRUSTED}")
    kind, body = answer.frames[-1]
    result = body.decode("utf-8", "surrogatepass")
    if kind == FAILED:
        raise RenderError(result)
    return result


@cache
def _can_hold_bounds() -> bool:
    if not HAS_CHILDREN:
        _LOG.warning(
            "chat templates are rendered without limits of time and memory: "
            "that needs Linux or macOS, and Python's own interpreter"
        )
    return HAS_CHILDREN


def render_here(text: str, variables: Mapping[str, Any], moment: datetime) -> str:
    """The rendered template, in this process and without limits. Raises RenderError."""
    try:
        return compile_template(text).render({"strftime_now": strftime(moment), **variables})
    except TemplateRefusal as error:
        raise RenderError(f"it refuses: {error}") from None
    except RecursionError:
        raise RenderError("it calls itself without end.") from None
    except _RAISED as error:
        why = str(error) or type(error).__name__
        raise RenderError(f"it fails: {why}") from None


def _answer(line: socket.socket, request: bytes) -> None:
    parts = marshal.loads(request)  # noqa: S302 - the process that started this one wrote it
    text, variables, written_moment, zone, (seconds, characters, memory) = parts
    moment = datetime.fromisoformat(written_moment)
    if (offset := moment.utcoffset()) is not None and zone is not None:
        moment = moment.replace(tzinfo=timezone(offset, zone))
    set_alarm(seconds)
    compile_template(text)
    limit_growth(memory)
    kind = RENDERED
    try:
        result = render_here(text, variables, moment)
    except RenderError as error:
        kind = FAILED
        result = str(error)
    if len(result) > characters:
        kind = FAILED
        result = f"it builds something of more than {characters:,} characters or members{_UNTRUSTED}"
    body = result.encode("utf-8", "surrogatepass")
    set_alarm(0)
    limit_memory(None)
    send(line, kind, body)


def main() -> None:
    """Answer until the requests end."""
    answer_requests(_answer)

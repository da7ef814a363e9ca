"""Turns a tool's exception into text: for the record, and for the model if the tool is declared so.

An exception's message may come from anybody: the developer, a library, a server's reply. It is cut to a
limit, and anything that looks like a secret is redacted, wherever it is used.
"""

from traceback import format_exception

from rightcall.core.outcome import Failed
from rightcall.core.secret import redact_formats
from rightcall.core.tool import Tool

MOST_WORDS = 500
"""The most characters of an exception's message that are kept."""
_LOOKED_AT = 8192
_OURS = ("rightcall.gate.", "rightcall.core.")


def failed(error: BaseException, tool: Tool) -> Failed:
    """Returns the outcome of a call whose tool raised anything but a ToolFailure."""
    words = words_of(error) if tool.errors == "words" else ""
    _begin_at_the_tool(error)
    return Failed(words, error="".join(format_exception(error)), cause=cause_of(error))


def _begin_at_the_tool(error: BaseException) -> None:
    """Drop our own frames above the tool's from the traceback: its readers look for their own code."""
    trace = error.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith(_OURS):
        trace = trace.tb_next
    if trace is not None:
        error.__traceback__ = trace


def cause_of(error: BaseException) -> str:
    """Returns the type of an exception and its message: ``ValueError: no account 7``."""
    root = _root(error)
    message = _message(root)
    name = type(root).__qualname__
    return f"{name}: {message}" if message else name


def words_of(error: BaseException) -> str:
    """Returns the first line of an exception's message; with its type if that alone is unclear."""
    root = _root(error)
    line = _message(root).partition("\n")[0].strip()
    if not line or isinstance(root, KeyError):
        # A KeyError's message is the key.
        return cause_of(root).partition("\n")[0]
    return line


def _root(error: BaseException) -> BaseException:
    """Returns the exception itself, or the only one in a group of one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _message(error: BaseException) -> str:
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - __str__ is the tool's code, too
        return "its message cannot be read"
    text = redact_formats(said[:_LOOKED_AT]).strip()
    return text if len(text) <= MOST_WORDS else text[: MOST_WORDS - 1] + "…"

"""What a tool raised into words: for the record, and for the model where the tool's declaration says so.

An exception's words are whatever somebody wrote there: the developer, a library, a server's reply. They
are bounded and go without what looks like a secret wherever they are put.
"""

from traceback import format_exception

from rightcall.core.outcome import Failed
from rightcall.core.secret import redact_formats
from rightcall.core.tool import Tool

MOST_WORDS = 500
"""Characters of an exception's words that are kept."""
_LOOKED_AT = 8192
_OURS = ("rightcall.gate.", "rightcall.core.")


def failed(error: BaseException, tool: Tool) -> Failed:
    """The outcome of a call whose tool raised something that is no ToolFailure."""
    words = words_of(error) if tool.errors == "words" else ""
    _begin_at_the_tool(error)
    return Failed(words, error="".join(format_exception(error)), cause=cause_of(error))


def _begin_at_the_tool(error: BaseException) -> None:
    """Cut the frames of ours that lead to the tool: readers of a traceback look for their own code."""
    trace = error.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith(_OURS):
        trace = trace.tb_next
    if trace is not None:
        error.__traceback__ = trace


def cause_of(error: BaseException) -> str:
    """The type of an exception and its message: ``ValueError: no account 7``."""
    root = _root(error)
    message = _message(root)
    name = type(root).__qualname__
    return f"{name}: {message}" if message else name


def words_of(error: BaseException) -> str:
    """The first line of an exception's message; its type where that alone would say nothing."""
    root = _root(error)
    line = _message(root).partition("\n")[0].strip()
    if not line or isinstance(root, KeyError):
        # A KeyError's message is the key.
        return cause_of(root).partition("\n")[0]
    return line


def _root(error: BaseException) -> BaseException:
    """The exception itself; of a group that holds one only, that one."""
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

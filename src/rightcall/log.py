"""The loggers that everything in rightcall writes to. What looks like a secret is taken out on the way.

So is half a surrogate pair, which a handler could not write. What a terminal would obey is shown: the
words of vendors and tools are in these lines.
A filter of a logger holds for whoever asks for that logger by its name, and not for those below it: so
every name stands here. No handler is installed: where the program configures nothing, Python itself
writes warnings to standard error, so that a tool that breaks is seen; everything else is silent.
"""

import logging
from traceback import format_exception

from rightcall.core.sanitize import encodable, printable
from rightcall.core.secret import redact_formats


def _clean(text: str) -> str:
    return printable(encodable(redact_formats(text)))


def whole(trace: str) -> str:
    """A text of several lines, for the end of a message: what is an argument is kept to one line."""
    return f":\n{trace.rstrip()}".replace("%", "%%") if trace else ""


def _one_line(given: object) -> object:
    """What stands in a message, so that no vendor's or tool's words can look like another line."""
    if not isinstance(given, str | BaseException):
        return given
    text = str(given)
    return text.replace("\r", "\\r").replace("\n", "\\n") if "\n" in text or "\r" in text else given


def _redact(record: logging.LogRecord) -> bool:
    try:
        if isinstance(record.args, tuple):
            record.args = tuple([_one_line(each) for each in record.args])
        message = record.getMessage()
    except (TypeError, ValueError):
        # The handler will say that the arguments do not fit the message.
        return True
    clean = _clean(message)
    if clean != message:
        record.msg, record.args = clean, ()
    if record.exc_info and record.exc_info[1] is not None:
        trace = "".join(format_exception(record.exc_info[1])).rstrip("\n")
        clean = _clean(trace)
        if clean != trace:
            # Handlers print the text where there is one; the exception itself would tell it again.
            record.exc_text, record.exc_info = clean, None
    return True


def _logger(name: str) -> logging.Logger:
    found = logging.getLogger(name)
    found.addFilter(_redact)
    return found


logger = _logger("rightcall")
"""Everything that has no logger of its own: fallbacks, limits that cannot be held, durable workers."""
mcp_logger = _logger("rightcall.mcp")
"""What MCP servers and clients do wrong, and their own messages."""
tool_logger = _logger("rightcall.gate")
"""What tools raise, with the traceback (WARNING), and each call's outcome (INFO)."""
run_logger = _logger("rightcall.loop")
"""Each turn and how a run ended (INFO); a reply that broke off (WARNING)."""
request_logger = _logger("rightcall.request")
"""Each request and its answer (DEBUG), and the wait before it is sent again (WARNING)."""
local_logger = _logger("rightcall.local")
"""A model that is being loaded, and how long that takes (INFO)."""
gateway_logger = _logger("rightcall.serve.gateway")
"""Each exchange (INFO), what a translation left out and what an upstream got wrong (WARNING)."""

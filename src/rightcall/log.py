"""The loggers of rightcall.

Text that looks like a secret is redacted, and halves of surrogate pairs, which a handler could not
write, are replaced. Control characters are made visible, because the lines contain text of vendors and
tools. A filter applies only to the logger it is added to, not to its children: so every logger is listed
here. No handler is installed: if the program configures nothing, Python itself writes warnings to
standard error, so that a broken tool is noticed; everything else is silent.
"""

import logging
from traceback import format_exception

from rightcall.core.sanitize import encodable, printable
from rightcall.core.secret_formats import redact_formats


def _clean(text: str) -> str:
    return printable(encodable(redact_formats(text)))


def whole(trace: str) -> str:
    """Returns text of several lines for the end of a message: arguments are reduced to one line."""
    if trace:
        return f":\n{trace.rstrip()}".replace("%", "%%")
    return ""


def _one_line(argument: object) -> object:
    """Returns an argument in one line, so that no vendor's or tool's text can look like another line."""
    if isinstance(argument, str | BaseException):
        text = str(argument)
        if "\n" in text or "\r" in text:
            return text.replace("\r", "\\r").replace("\n", "\\n")
    return argument


def _redact(record: logging.LogRecord) -> bool:
    try:
        if isinstance(record.args, tuple):
            record.args = tuple(map(_one_line, record.args))
        message = record.getMessage()
    except (TypeError, ValueError):
        # The handler will report that the arguments do not match the message.
        return True
    clean = _clean(message)
    if clean != message:
        record.msg = clean
        record.args = ()
    if record.exc_info and record.exc_info[1] is not None:
        trace = "".join(format_exception(record.exc_info[1])).rstrip("\n")
        clean = _clean(trace)
        if clean != trace:
            # Handlers print exc_text if it is set; with exc_info they could format the exception again.
            record.exc_text = clean
            record.exc_info = None
    return True


def _logger(name: str) -> logging.Logger:
    named = logging.getLogger(name)
    named.addFilter(_redact)
    return named


logger = _logger("rightcall")
"""Everything without a logger of its own: fallbacks, limits that cannot be enforced, durable workers."""
mcp_logger = _logger("rightcall.mcp")
"""Errors of MCP servers and clients, and their own messages."""
tool_logger = _logger("rightcall.gate")
"""Exceptions of tools, with the traceback (WARNING), and each call's outcome (INFO)."""
run_logger = _logger("rightcall.loop")
"""Each turn and the end of a run (INFO); a reply that broke off (WARNING)."""
request_logger = _logger("rightcall.request")
"""Each request and its answer (DEBUG), and the wait before a retry (WARNING)."""
local_logger = _logger("rightcall.local")
"""The loading of a model, and how long it takes (INFO)."""
gateway_logger = _logger("rightcall.serve.gateway")
"""Each exchange (INFO), what a translation left out and errors of an upstream (WARNING)."""

"""Exceptions, for the developer. What a model or a tool gets wrong is an outcome, never one of these.

The first split is blame::

    ToolwrightError
      DeclarationError      you: a tool cannot be declared as written
      UsageError            you: something was asked for that makes no sense now
      ToolFailure           a tool's own word for an expected failure; raise it inside a handler

Every class has a stable ``code``, keeps its facts as attributes, and survives pickling.
"""

from typing import Any, ClassVar


class ToolwrightError(Exception):
    """The root of everything toolwright raises."""

    code: ClassVar[str] = "toolwright"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(
    kind: type[ToolwrightError], args: tuple[Any, ...], fields: dict[str, Any]
) -> ToolwrightError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class DeclarationError(ToolwrightError):
    """A tool cannot be declared as written: which tool, where in it, why, and what to do."""

    code = "declaration"

    def __init__(self, tool: str, reason: str, *, where: str | None = None, fix: str = "") -> None:
        place = f"tool {tool!r}" if where is None else f"tool {tool!r}, {where}"
        super().__init__(f"{place}: {reason}" + (f" {fix}" if fix else ""))
        self.tool = tool
        self.where = where
        """The parameter, schema path, or option at fault; None when it is the whole tool."""
        self.reason = reason
        self.fix = fix


class UsageError(ToolwrightError):
    """The library was asked for something that makes no sense now."""

    code = "usage"


class ToolFailure(ToolwrightError):
    """Raise it inside a tool for a failure you expect; the model reads the message and adapts.

    ``retryable=True`` says that the same call may succeed later: it is tried again, with backoff, as
    often as the tool's ``limits.retries`` allows, before the model hears of it.
    """

    code = "tool_failure"

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable

"""Functions that check an output, run as the answer tool's own, in whatever way the answer is given."""

import inspect
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from msgspec.structs import replace

from rightcall.core.handler import Context, Handler, HandlerMisuse
from rightcall.declare.output import AnswerForm, check_arity, form_of
from rightcall.errors import ToolFailure


def form_with_check(output: Any) -> AnswerForm:
    """Returns the form of an output, with its own check if it has one."""
    form = form_of(output)
    if form.output.check is None:
        return form
    return with_check(form, form.output.check)


def with_check(form: AnswerForm, check: Callable[..., Any]) -> AnswerForm:
    """Returns the form with another function that checks its answers, after those that it has."""
    check_arity(check)
    calling = form.tool.calling
    before = calling.checks if isinstance(calling, AnswerHandler) else ()
    checks = (*before, check)
    handler = AnswerHandler(
        function=_accept,
        is_async=all(map(_is_async, checks)),
        context="context" if any(map(_takes_two, checks)) else None,
        checks=checks,
        is_wrapped=form.wrapped,
    )
    return replace(form, tool=form.tool.replace(handler=_accept, calling=handler, errors="words"))


class AnswerHandler(Handler, frozen=True, kw_only=True, eq=False):
    """Calls the functions that check an answer, and returns the answer as it is."""

    checks: tuple[Callable[..., Any], ...]
    is_wrapped: bool

    def call(self, bound: Any, context: Context[Any] | None) -> Any:
        """Check the answer; the caller awaits what is awaitable."""
        return self._check_from(0, bound, context)

    def _check_from(self, first: int, bound: Any, context: Context[Any] | None) -> Any:
        value = bound["answer"] if self.is_wrapped else bound
        for place in range(first, len(self.checks)):
            check = self.checks[place]
            try:
                said = check(value, context) if _takes_two(check) else check(value)
            except _REFUSALS as error:
                raise _refusal(error) from error
            if isawaitable(said):
                return self._check_awaited(place, said, bound, context)
            _require_no_change(check, said, value)
        return bound

    async def _check_awaited(
        self, place: int, said: Awaitable[Any], bound: Any, context: Context[Any] | None
    ) -> Any:
        value = bound["answer"] if self.is_wrapped else bound
        try:
            answer = await said
        except _REFUSALS as error:
            raise _refusal(error) from error
        _require_no_change(self.checks[place], answer, value)
        rest = self._check_from(place + 1, bound, context)
        return await rest if isawaitable(rest) else rest


_REFUSALS = (ValueError, AssertionError)
"""What a check raises, as pydantic's validators do, to refuse an answer. Anything else is its own fault,
which the model reads too, and the log has."""


def _refusal(error: Exception) -> ToolFailure:
    return ToolFailure(str(error) or type(error).__name__, own=True)


def _require_no_change(check: Callable[..., Any], said: object, value: object) -> None:
    """Raise a UsageError that ends the run if a check returned something else than its value.

    It would be lost: the output is read from the transcript again where a result is loaded, and no
    check runs there.
    """
    if said is not None and said is not value:
        name = getattr(check, "__qualname__", repr(check))
        raise HandlerMisuse(
            f"the output's check {name} returned {type(said).__name__}: a check raises, or returns "
            "nothing or the answer as it is; a validator of the type itself may change it"
        )


def _takes_two(check: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(check).parameters.values()
    except (TypeError, ValueError):
        return False
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(by_position) > 1


def _is_async(check: Callable[..., Any]) -> bool:
    called = check if inspect.isroutine(check) else type(check).__call__
    return inspect.iscoroutinefunction(called)


def _accept(**_: Any) -> None:
    """Stands for the answer tool's function; ``AnswerHandler`` is what is called."""

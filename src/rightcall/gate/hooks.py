"""Hooks: the developer's own code around model calls and tool calls, which may change or forbid them.

==============  ==================  ==========================================================
hook            is given            may answer, besides None
==============  ==================  ==========================================================
before_model    a Request           Veto; a Request to send instead; User messages to add
after_model     a Reply             Veto; User messages to add
before_tool     a CheckedCall       Veto; Rewrite for other arguments; Answer for a result by hand
after_tool      an Execution        Veto; Answer for other words of the result; User messages to add
==============  ==================  ==========================================================

Several answers at once are a list. Of several hooks each sees what those before it changed, and the
first Veto counts. One whose return annotation is None only watches.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.decision import Answer, Deny, FinalDecision, Rewrite
from rightcall.core.handler import unwrap
from rightcall.core.message import Reply, User
from rightcall.core.options import NameCheckedMeta, TypeCheckedMeta
from rightcall.core.outcome import Denied
from rightcall.core.request import Request
from rightcall.core.tool import CheckedCall, Tool
from rightcall.errors import UsageError
from rightcall.gate.execution import Execution, not_run
from rightcall.gate.render import replace_text


class Veto(Struct, frozen=True, metaclass=NameCheckedMeta):
    """A hook's refusal.

    Around a model call it ends the run. Before a tool call it denies the call. After one it withholds
    the result, and the model is told that the tool ran.
    """

    reason: str = ""


ModelAnswer: TypeAlias = Veto | Request | User | Sequence[Request | User] | None
ReplyAnswer: TypeAlias = Veto | User | Sequence[User] | None
CallAnswer: TypeAlias = Veto | Rewrite | Answer | None
ResultAnswer: TypeAlias = Veto | Answer | User | Sequence[Answer | User] | None


class Hooks(Struct, frozen=True, kw_only=True, metaclass=TypeCheckedMeta):
    """Functions, sync or async, that may change or veto what happens. All are optional.

    A ``before_tool`` hook keeps calls from starting while the reply still streams, unless it is
    annotated to return None and so only watches.
    """

    before_model: Callable[[Request], ModelAnswer | Awaitable[ModelAnswer]] | None = None
    after_model: Callable[[Reply], ReplyAnswer | Awaitable[ReplyAnswer]] | None = None
    before_tool: Callable[[CheckedCall], CallAnswer | Awaitable[CallAnswer]] | None = None
    after_tool: Callable[[Execution], ResultAnswer | Awaitable[ResultAnswer]] | None = None


_NAMES = ("before_model", "after_model", "before_tool", "after_tool")
_KINDS: dict[str, tuple[type, ...]] = {
    "before_model": (Veto, Request, User),
    "after_model": (Veto, User),
    "before_tool": (Veto, Rewrite, Answer),
    "after_tool": (Veto, Answer, User),
}


class RequestAfterHooks(Struct, frozen=True, eq=False):
    """A request after the hooks."""

    request: Request
    notes: tuple[User, ...] = ()
    """Messages to the model that the hooks added; they stay in the transcript."""
    veto: Veto | None = None


def _may_change(hook: Callable[[Any], Any]) -> bool:
    """Whether a hook may answer: not if it is annotated to return None."""
    declared = getattr(unwrap(hook), "__annotations__", {})
    return "return" not in declared or declared["return"] not in (None, "None", type(None))


class HookChain:
    """All hooks of an agent or a server, asked one after the other."""

    def __init__(self, hooks: Sequence[object] = ()) -> None:
        self._hooks: dict[str, list[Callable[[Any], Any]]] = {name: [] for name in _NAMES}
        for each in hooks:
            for name, chain in self._hooks.items():
                found = getattr(each, name, None)
                if found is not None:
                    chain.append(found)
        self.changes_requests = any(map(_may_change, self._hooks["before_model"]))
        """Whether a hook may change or veto a request."""
        self.changes_calls = any(map(_may_change, self._hooks["before_tool"]))
        """Whether a hook may change or veto a call before it starts."""
        self.watches_calls = self.has("before_tool") and not self.changes_calls
        """Whether hooks only watch calls before they start."""
        self.changes_results = self.has("after_tool")
        """Whether there are hooks after a call, which may change its result."""

    def has(self, name: str) -> bool:
        """Whether there is a hook of that name."""
        return bool(self._hooks[name])

    def around_tools(self) -> "HookChain":
        """Returns a chain of only the tool hooks, for a run that asks no model."""
        chain = HookChain()
        chain._hooks |= {name: self._hooks[name] for name in ("before_tool", "after_tool")}
        chain.changes_calls = self.changes_calls
        chain.watches_calls = self.watches_calls
        chain.changes_results = self.changes_results
        return chain

    async def before_model(self, request: Request) -> RequestAfterHooks:
        """Returns the request after all hooks."""
        notes: tuple[User, ...] = ()
        for hook in self._hooks["before_model"]:
            for answer in await _answers("before_model", hook, request):
                if isinstance(answer, Veto):
                    return RequestAfterHooks(request, notes, answer)
                if isinstance(answer, User):
                    note = _note(answer)
                    notes += (note,)
                    request = replace(request, messages=(*request.messages, note))
                else:
                    # A hook must not change which conversation the request belongs to.
                    request = replace(answer, conversation=request.conversation)
        return RequestAfterHooks(request, notes)

    async def after_model(self, reply: Reply) -> Veto | tuple[User, ...]:
        """Returns a hook's veto of a reply, or the messages that the hooks add for the model."""
        notes: tuple[User, ...] = ()
        for hook in self._hooks["after_model"]:
            for answer in await _answers("after_model", hook, reply):
                if isinstance(answer, Veto):
                    return answer
                notes += (_note(answer),)
        return notes

    async def before_tool(
        self, checked: CheckedCall, again: Callable[[Rewrite], Awaitable[object]]
    ) -> FinalDecision | None:
        """Returns the hooks' decision about a call. ``again`` checks a call with rewritten arguments.

        Invalid arguments are shown to no further hook; the gate refuses them.
        """
        decision: Rewrite | None = None
        for hook in self._hooks["before_tool"]:
            for answer in await _answers("before_tool", hook, checked):
                match answer:
                    case Veto(reason):
                        return Deny(reason)
                    case Answer():
                        return answer
                    case Rewrite():
                        decision = answer
                        rewritten = await again(answer)
                        if not isinstance(rewritten, CheckedCall):
                            return decision
                        checked = rewritten
                    case _:
                        raise AssertionError(answer)
        return decision

    async def after_tool(self, execution: Execution, tool: Tool) -> Execution:
        """Returns the execution after all hooks. Trust labels stay as they are."""
        for hook in self._hooks["after_tool"]:
            for answer in await _answers("after_tool", hook, execution):
                if isinstance(answer, Veto):
                    withheld = not_run(execution.call, Denied(answer.reason, ran=True))
                    return replace(execution, outcome=withheld.outcome, result=withheld.result)
                if isinstance(answer, User):
                    execution = replace(execution, notes=(*execution.notes, _note(answer)))
                else:
                    original = execution.original or execution.result
                    result = replace_text(execution.result, answer.text, tool)
                    execution = replace(execution, result=result, original=original)
        return execution


NO_HOOKS = HookChain()


def chain_hooks(hooks: object) -> HookChain:
    """Returns one, several or no hooks as one chain."""
    if isinstance(hooks, list | tuple):
        several = hooks
    elif hooks is None:
        several = ()
    else:
        several = (hooks,)
    for each in several:
        if not any(hasattr(each, name) for name in _NAMES):
            raise UsageError(
                f"hooks are rc.Hooks(…), or objects with one of {', '.join(_NAMES)}, and not "
                f"{type(each).__name__}"
            )
    if several:
        return HookChain(several)
    return NO_HOOKS


async def _answers(name: str, hook: Callable[[Any], Any], what: object) -> Iterator[Any]:
    """Returns a hook's answers. Any of the wrong type raises, so that it cannot pass for a yes."""
    answer = hook(what)
    if isawaitable(answer):
        answer = await answer
    if isinstance(answer, list | tuple):
        answers = answer
    elif answer is None:
        answers = ()
    else:
        answers = (answer,)
    kinds = _KINDS[name]
    if answers and not _may_change(hook):
        raise UsageError(f"a {name} hook that is declared to return None gave {answers[0]!r}")
    for each in answers:
        if not isinstance(each, kinds):
            allowed = ", ".join(kind.__name__ for kind in kinds)
            raise UsageError(f"a {name} hook answers {allowed} or None, and not {type(each).__name__}")
    return iter(answers)


def _note(message: User) -> User:
    """Returns the message marked as the developer's, who wrote the hook."""
    if message.author == "user":
        return replace(message, author="developer")
    return message

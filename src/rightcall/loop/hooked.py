"""Passes a request through the hooks before it is sent; their change is a step, recorded once."""

from itertools import count
from operator import is_

from msgspec import UNSET, Struct
from msgspec.structs import replace

from rightcall.core.entry import Entry, HookAnswered, Kept, RequestChange
from rightcall.core.message import Message, Transcript, User
from rightcall.core.request import Request
from rightcall.loop.setup import Setup


class Hooked(Struct, frozen=True, eq=False):
    """The request to send, the hooks' messages and their veto."""

    request: Request
    notes: tuple[User, ...] = ()
    veto: str | None = None


async def through_hooks(setup: Setup, turn: int, request: Request) -> Hooked:
    """Returns the request after the hooks, from the record if this was recorded."""
    hooks, key = setup.hooks, f"t{turn}.before_model"
    if not hooks.changes_requests:
        await hooks.before_model(request)
        return Hooked(request)

    async def body() -> Entry:
        asked = await hooks.before_model(request)
        return HookAnswered(
            key=key,
            hook="before_model",
            veto=None if asked.veto is None else asked.veto.reason,
            notes=asked.notes,
            request=_change(request, asked.request),
        )

    entry = await setup.steps.step(key, body)
    assert isinstance(entry, HookAnswered)
    changed = request if entry.request is None else _changed(request, entry.request)
    return Hooked(changed, entry.notes, entry.veto)


_FIELDS = ("system", "specs", "choice", "output", "max_tokens", "options")


def _change(before: Request, after: Request) -> RequestChange | None:
    """Returns the difference between two requests; None if there is none."""
    changes = {
        name: getattr(after, name) for name in _FIELDS if getattr(after, name) != getattr(before, name)
    }
    same = len(before.messages) == len(after.messages)
    if not same or not all(map(is_, before.messages, after.messages)):
        changes["messages"] = tuple(_difference(before.messages, after.messages))
    return RequestChange(**changes) if changes else None


def _difference(before: Transcript, after: Transcript) -> list[Kept | Message]:
    """Returns the messages after, with those that were there before as references by index."""
    places = dict(zip(map(id, before), count()))
    found: list[Kept | Message] = []
    for message in after:
        at = places.get(id(message))
        last = found[-1] if found else None
        if at is None:
            found.append(message)
        elif isinstance(last, Kept) and last.last == at:
            found[-1] = Kept(last.first, at + 1)
        else:
            found.append(Kept(at, at + 1))
    return found


def _changed(request: Request, change: RequestChange) -> Request:
    fields = {name: value for name in _FIELDS if (value := getattr(change, name)) is not UNSET}
    if change.messages is not UNSET:
        messages: list[Message] = []
        for each in change.messages:
            if isinstance(each, Kept):
                messages += request.messages[each.first : each.last]
            else:
                messages.append(each)
        fields["messages"] = tuple(messages)
    return replace(request, **fields)

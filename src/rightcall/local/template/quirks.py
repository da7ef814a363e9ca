"""What a chat template takes and what it does with it, as data; and what that means, in words."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.local.template.switches import Switch

Seen: TypeAlias = Literal["shown", "ignored", "refused"]
"""What becomes of something that a template is given."""

Opens: TypeAlias = Literal["asked", "always", "doubled", "never"]
"""When a template opens the model's turn: when asked to; always; always and again when asked; never."""


class Quirks(Struct, frozen=True, kw_only=True):
    """What is known of a template after it was tried out. Nothing here comes from a model's name."""

    shows_user: bool = True
    """It is made for conversations: what a user says is shown, or refused in words."""
    takes_text: bool = True
    """Content may be a string. If not, it must be a list of parts."""
    takes_parts: bool = False
    """Content may be a list of parts."""
    system: Seen = "shown"
    developer: Seen = "ignored"
    tools: Seen = "shown"
    needs_tools: bool = False
    """Without tools it wants an empty list, and refuses none."""
    calls: bool = True
    """Earlier calls are shown, with their names and arguments."""
    parallel: bool = True
    """One message may hold several calls."""
    arguments: Literal["object", "text", "either"] = "object"
    """How a call's arguments must be given to be shown as JSON."""
    no_text: Literal["empty", "null", "absent"] = "empty"
    """The content of a message that holds nothing but calls."""
    results: str = "tool"
    """The role of a message that holds a result; empty when there is none that is shown."""
    ids: Literal["any", "nine"] = "any"
    """Call ids are taken as they are, or must have nine letters and digits (Mistral)."""
    ids_shown: bool = False
    alternates: bool = False
    """Two messages of one role in a row are refused, or one of them is lost."""
    user_after_results: bool = True
    """A user may speak right after results."""
    silence: str = ""
    """What an assistant says that says nothing, where that is refused."""
    reasoning: str = ""
    """The member of a message that holds its reasoning; ``part`` when it must be a part of the content;
    empty when reasoning is not shown."""
    text_with_calls: bool = True
    """Text beside calls is shown, and hides none of them."""
    reasoning_with_text: bool = True
    """A message may hold reasoning, text and calls at once."""
    opens: Opens = "asked"
    tail: str = ""
    """What opens the model's turn after a user's message. Where it is always opened: all that follows
    the user's text."""
    thinking: tuple[str, str] | None = None
    """The markers around reasoning, if there are any."""
    opens_thinking: bool = False
    """The tail leaves a thought open: what the model writes first is one."""
    writes_bos: bool = False
    """The prompt already begins with the beginning token; an engine must not add another."""
    switches: tuple[Switch, ...] = ()
    """What turns reasoning on and off."""
    markers: tuple[str, ...] = ()
    """Special strings of the template: what opens and closes turns, calls, thoughts."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What the template cannot do, and what is done instead."""
        return tuple(problems_of(self).values())


def problems_of(quirks: Quirks) -> dict[str, str]:
    """The same, by what it is about."""
    return {about: words for about, is_so, words in _problems(quirks) if is_so}


def _problems(quirks: Quirks) -> Iterator[tuple[str, bool, str]]:
    merged = "it is merged into the first user message"
    unseen = "refuses" if quirks.system == "refused" else "ignores"
    yield "system", quirks.system != "shown", f"the template {unseen} a system message: {merged}"
    unseen = "refuses" if quirks.tools == "refused" else "ignores"
    told = "they are described in the system message instead"
    yield "tools", quirks.tools != "shown", f"the template {unseen} tools: {told}"
    for about, is_so, what, instead in _BY_MESSAGE:
        yield about, is_so(quirks), f"the template {what}: {instead}"


_BY_MESSAGE: Sequence[tuple[str, Callable[[Quirks], bool], str, str]] = (
    (
        "user",
        lambda quirks: not quirks.shows_user,
        "does not show what a user says",
        "it is not made for conversations",
    ),
    (
        "content",
        lambda quirks: not quirks.takes_text,
        "takes no plain text as content",
        "it is given as parts",
    ),
    (
        "calls",
        lambda quirks: not quirks.calls,
        "does not show earlier calls",
        "they are written as the assistant's text",
    ),
    (
        "parallel",
        lambda quirks: quirks.calls and not quirks.parallel,
        "shows one call a message",
        "several are split over several messages",
    ),
    (
        "text",
        lambda quirks: quirks.calls and not quirks.text_with_calls,
        "does not show what is said beside calls",
        "it is left out",
    ),
    (
        "ids",
        lambda quirks: quirks.ids == "nine",
        "wants call ids of nine letters and digits",
        "others are rewritten",
    ),
    (
        "results",
        lambda quirks: not quirks.results,
        "does not show results",
        "they are given as user messages",
    ),
    (
        "turns",
        lambda quirks: quirks.alternates,
        "wants user and assistant to take turns",
        "messages of one role are merged",
    ),
    (
        "after",
        lambda quirks: not quirks.user_after_results,
        "takes no user message right after results",
        "a reply that says nothing is put between them",
    ),
    (
        "reasoning",
        lambda quirks: not quirks.reasoning,
        "does not show reasoning",
        "earlier thoughts are left out",
    ),
    (
        "opening",
        lambda quirks: quirks.opens == "never",
        "never opens the model's turn",
        "what opens its earlier turns is added",
    ),
    (
        "doubled",
        lambda quirks: quirks.opens == "doubled",
        "opens the model's turn even unasked",
        "it is not asked",
    ),
)

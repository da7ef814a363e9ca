"""Renders messages as the prompt that a model was trained on, with the model's own chat template.

The output equals that of Hugging Face's ``apply_chat_template``, byte for byte. ``local/prompt.py``
handles what a template does not support.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any, TypeAlias

from rightcall.core.options import check_keywords
from rightcall.errors import EncodeError, UsageError
from rightcall.local.engine import Card
from rightcall.local.template.rendering import DEFAULT_BOUNDS, Bounds, RenderError, render
from rightcall.local.template.sandbox import compile_template, fixed_opening, variables_of

NAME = "chat template"
"""The dialect in an EncodeError."""

Fields: TypeAlias = Mapping[str, Any]
"""A message, a tool or a document, in the form for templates."""

REASONING = ("reasoning_content", "thinking", "reasoning")
"""The fields with a message's reasoning. Templates read the first, gpt-oss's the second."""

_CONTINUED = "qz-the-message-goes-on-here "
"""The end mark of a message that is to be continued; its place shows where the prompt must stop. Its
space shows whether the template trims."""

_OPTIONS = ("tools", "documents", "add_generation_prompt", "continue_final")
_MISSPELT = 0.85
"""How similar a switch must be to an option's name to be a typo; any other may be a template's own."""


class ChatTemplate:
    """A model's chat template, with its special tokens. It keeps no state of what it renders."""

    @check_keywords("rc.local.ChatTemplate")
    def __init__(
        self,
        text: str | Mapping[str, str],
        *,
        tokens: Mapping[str, str] | None = None,
        special: Sequence[str] = (),
        add_bos: bool = False,
        clock: Callable[[], datetime] = datetime.now,
        bounds: Bounds | None = DEFAULT_BOUNDS,
    ) -> None:
        if isinstance(text, str):
            variants = {"default": text}
        else:
            variants = dict(text)
        if not any(variants.values()):
            raise UsageError("the model carries no chat template; give one as text")
        self.variants: Mapping[str, str] = variants
        """Templates by name: ``default``, ``tool_use``, ``rag``…"""
        self.tokens: Mapping[str, str] = dict(tokens or {})
        """Special tokens by their names in templates: ``bos_token``, ``eos_token``…"""
        self.special = tuple(special)
        """Further known special tokens; those that the template itself writes need not be here."""
        self.add_bos = add_bos
        """Whether the prompt must begin with the beginning token, whether or not the template writes
        it."""
        self._clock = clock
        self.bounds = bounds
        """The limits of a rendering; None for a template that is trusted, and rendered in this
        process."""
        for each in variants.values():
            compile_template(each)

    @classmethod
    def from_card(cls, card: Card, **settings: Any) -> "ChatTemplate":
        """The template of a model that an engine has loaded."""
        return cls(card.template, tokens={"bos_token": card.bos, "eos_token": card.eos}, **settings)

    @property
    def bos(self) -> str:
        """The text of the beginning token; empty if unknown."""
        return self.tokens.get("bos_token", "")

    @property
    def variables(self) -> frozenset[str]:
        """The variables that any of the templates reads."""
        return frozenset().union(*map(variables_of, self.variants.values()))

    def choose(self, *, tools: bool) -> str:
        """The text of the template for a conversation: ``tool_use`` if there are tools and it exists."""
        if tools and "tool_use" in self.variants:
            return self.variants["tool_use"]
        if "default" in self.variants:
            return self.variants["default"]
        if len(self.variants) == 1:
            return next(iter(self.variants.values()))
        names = ", ".join(self.variants)
        raise UsageError(
            f"none of the model's chat templates ({names}) is the default; give one as text"
        )

    def render(
        self,
        messages: Sequence[Fields],
        *,
        tools: Sequence[Fields] | None = None,
        documents: Sequence[Fields] | None = None,
        add_generation_prompt: bool = True,
        continue_final: bool = False,
        **switches: Any,
    ) -> str:
        """The prompt. ``continue_final`` leaves the last message open, for the model to continue.

        ``switches`` are the template's own variables, as ``enable_thinking``.
        """
        for name in switches:
            if near := get_close_matches(name, _OPTIONS, n=1, cutoff=_MISSPELT):
                place = "rc.local.ChatTemplate.render"
                raise UsageError(f"{place} takes no {name!r}; did you mean {near[0]!r}?")
        plain = [_with_reasoning(message) for message in messages]
        if continue_final:
            if add_generation_prompt:
                raise UsageError("a message is continued, or a new one is begun: not both")
            # The messages with a mark at the end of the last one.
            content = plain[-1].get("content") if plain else None
            if isinstance(content, str):
                marked: Any = content + _CONTINUED
            elif isinstance(content, list | tuple) and any("text" in part for part in content):
                last = max(at for at, part in enumerate(content) if "text" in part)
                part = {**content[last], "text": content[last]["text"] + _CONTINUED}
                marked = [*content[:last], part, *content[last + 1 :]]
            else:
                raise UsageError("the last message has no text that could be continued")
            plain = [*plain[:-1], {**plain[-1], "content": marked}]
        text = self.fill(
            messages=plain,
            tools=tools,
            documents=documents,
            add_generation_prompt=add_generation_prompt,
            **switches,
        )
        if continue_final:
            # The prompt up to the mark.
            before, found, after = text.rpartition(_CONTINUED.rstrip())
            if not found:
                raise EncodeError(NAME, "it does not show the message that is to be continued.")
            if after.startswith(" "):
                return before
            return before.rstrip()
        return text

    def opening(self, *, tools: bool) -> str | None:
        """The text that opens the model's turn at the end of a prompt; None if it may vary."""
        return fixed_opening(self.choose(tools=tools))

    def fill(self, **variables: Any) -> str:
        """Render the template with only these variables and the special tokens."""
        text = self.choose(tools=variables.get("tools") is not None)
        try:
            return render(text, {**self.tokens, **_plain(variables)}, self._clock(), self.bounds)
        except RenderError as error:
            raise EncodeError(NAME, str(error)) from None


def _with_reasoning(message: Fields) -> Fields:
    """The message with its reasoning in every field that templates read."""
    for key in REASONING:
        thought = message.get(key)
        if thought is not None:
            return {"thinking": thought, **message, "reasoning_content": thought}
    return message


def _plain(value: Any) -> Any:
    """The same value, with only JSON's types: a template cannot reach any method of ours."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    match value:
        case str():
            return str.__str__(value)
        case bool() | int():
            return int(value)
        case float():
            return float(value)
        case Mapping():
            return {_plain(key): _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case tuple():
            return tuple([_plain(each) for each in value])
        case _:
            raise UsageError(f"a chat template takes JSON, not {type(value).__name__}")

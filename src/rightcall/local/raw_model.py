"""Shared by models on an engine: engine, template, profile, and a request's sampling options."""

from collections.abc import Mapping, Sequence
from typing import Self

from rightcall.core.jsontext import JsonValue
from rightcall.core.request import Profile, Request
from rightcall.errors import EncodeError, UsageError
from rightcall.local.engine import Card, Engine, Sampling
from rightcall.local.template.chat_template import ChatTemplate
from rightcall.local.template.template_file import read_template


class RawModel:
    """A model that continues text, with the chat template that makes a conversation of it."""

    def __init__(
        self, engine: Engine, *, template: ChatTemplate | None = None, profile: Profile | None = None
    ) -> None:
        self._engine = engine
        self._template = template
        self._own: tuple[Card, ChatTemplate] | None = None
        self._profile = profile or Profile(structured="native", priced=True)

    @property
    def profile(self) -> Profile:
        """The model's profile."""
        return self._profile

    async def count_tokens(self, text: str) -> int | None:
        """The number of tokens in a text, by the model's own tokenizer; None if it is not available."""
        count = getattr(self._engine, "count_tokens", None)
        if count is None:
            return None
        return int(await count(text))

    async def close(self) -> None:
        """Close the model."""
        await self._engine.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _template_of(self, card: Card) -> ChatTemplate:
        """The template that was given, or the model's own."""
        if self._template is None and card.folder:
            self._template = read_template(card.folder)
        if self._template is None and not card.template and card.advice:
            raise UsageError(f"{card.name}: {card.advice}")
        if self._template is not None:
            return self._template
        if self._own is None or self._own[0] is not card:
            self._own = card, ChatTemplate.from_card(card)
        return self._own[1]


def sampling_of(request: Request) -> Sampling:
    """The request's sampling options; unset ones are left to the engine."""
    options = request.options
    refuse_vendor_options(options)
    extra = options.get("extra")
    return Sampling(
        temperature=_number(options, "temperature"),
        top_p=_number(options, "top_p"),
        seed=None if (seed := _number(options, "seed")) is None else int(seed),
        max_tokens=request.max_tokens,
        stop=_stops(options.get("stop")),
        extra=extra if isinstance(extra, Mapping) else {},
    )


def refuse_vendor_options(options: Mapping[str, JsonValue]) -> None:
    """Refuse options that only vendors support: they would have no effect here."""
    if options.get("vendor_tools"):
        raise EncodeError("local", "a raw model has no tools of its own.", where="vendor_tools")
    asked = options.get("logprobs")
    if asked is not None and asked is not False:
        words = "a raw model does not tell how likely its tokens were; leave it out."
        raise EncodeError("local", words, where="options.logprobs")


def _number(options: Mapping[str, JsonValue], name: str) -> float | None:
    given = options.get(name)
    if isinstance(given, bool) or not isinstance(given, int | float | None):
        raise EncodeError("a raw model", f"a number is wanted, not {given!r}.", where=name)
    return given


def _stops(given: JsonValue) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Sequence):
        return tuple(each for each in given if isinstance(each, str))
    return ()

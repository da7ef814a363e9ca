"""Connects a model by name: ``"anthropic:claude-opus-4-8"`` -> dialect + transport + profile.

Names are ``provider:model``; a URL and a model for any OpenAI-compatible server,
``"http://localhost:8080/v1|qwen3"``; or a local model's name (see ``models.catalogue``).
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, Self
from urllib.parse import urlsplit

from msgspec.structs import replace

from rightcall.core.message import Reply
from rightcall.core.options import check_keywords
from rightcall.core.parts import Call
from rightcall.core.ports import Dialect, Model
from rightcall.core.request import Profile, Request
from rightcall.core.tool import Spec
from rightcall.core.transport import Timeouts, Transport
from rightcall.errors import UsageError
from rightcall.log import request_logger
from rightcall.models.catalogue import SERVERS, file_of, is_local
from rightcall.models.prices import Prices, prices_of
from rightcall.models.provider_access import AccessSettings, Key, as_text
from rightcall.models.providers import PROVIDERS, Provider, context_window, quirks_of
from rightcall.request.retry import Retry
from rightcall.request.wire_model import WireModel
from rightcall.transport.http import HttpTransport
from rightcall.wire.claude import can_be_forced
from rightcall.wire.dialects import DIALECTS, load

_MARKER = re.compile(r"[<\[][^\s\]]{0,40}(?:tool|function|invoke|python|plugin|channel)", re.IGNORECASE)
"""What the markers of calls have in common; the families' own are compared only where this is found."""


class UnreadCalls:
    """Says once that a server leaves calls in the text of its replies, and which option reads them.

    Without this, such a call looks like a strange answer: the run ends with it, and nothing tells why.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._has_said = False

    def __call__(self, request: Request, reply: Reply) -> None:
        """Log a warning for the first reply whose text holds a call of an offered tool."""
        if self._has_said or not request.specs or request.choice == "none" or reply.calls:
            return
        text = reply.text
        if _MARKER.search(text) is None or (family := _family(text, request.specs)) is None:
            return
        self._has_said = True
        own = f' (or family="{family}")' if family else ""
        request_logger.warning(
            "%s left a call in its text: it does not parse the calls of this model. "
            'rc.connect(…, family="auto")%s reads them; or start the server with its tool parser.',
            self._name,
            own,
        )


def _family(text: str, specs: Sequence[Spec]) -> str | None:
    """The family in whose format the text has a call; "" if it may be several, None without a call."""
    from rightcall.local.families import family_list, reader  # noqa: PLC0415 - light until used

    names = {spec.name for spec in specs}
    likely = family_list.detect(text)
    marked = []
    for each in family_list.FAMILIES.values():
        openers = [*each.section.open, *each.call.open]
        if each.channels:
            openers += [each.channels.channel, each.channels.start]
        # A code fence may hold an example.
        if any(opener and "`" not in opener and opener in text for opener in openers):
            marked.append(each)
    for family in (likely, *marked):
        reading = reader.Reader(family, tuple(specs), tail=reader.answering(family), offered=True)
        reading.feed(text)
        reading.finish()
        if any(isinstance(part, Call) and part.name in names for part in reading.content):
            if family is likely and family.name != "generic":
                return family.name
            return ""
    return None


_CHAT = "openai_chat"
"""The dialect of most servers, some of which leave calls in their text."""


class Connected(Model, Protocol):
    """A model with open resources: connections, or weights in memory."""

    async def close(self) -> None:
        """Close them, and end open streams. A closed model that is asked again reopens them."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


@check_keywords("rc.connect", say="rc.connect(…, {}=…)")
def connect(  # noqa: PLR0913 - each is one fact about the connection
    name: str,
    *,
    base_url: str | None = None,
    api_key: Key | None = None,
    headers: Mapping[str, str] | None = None,
    profile: Profile | None = None,
    streaming: bool = True,
    retry: Retry | None = None,
    timeouts: Timeouts | None = None,
    transport: Transport | None = None,
    keep_raw: bool = False,
    template: str | Path | None = None,
    family: str | None = None,
    state: Literal["vendor"] | None = None,
    background: bool = False,
) -> Connected:
    """A model by name. By default the key comes from the provider's usual environment variable.

    ``api_key`` is a text, or a function, sync or async, that is called for every request. Close the
    model, or use it in ``async with``; otherwise it is closed with its event loop, at the latest with
    the program. ``transport`` is closed with it, so each model needs its own. ``keep_raw`` stores the
    vendor's raw bytes of each reply in the journal. ``template`` and ``family``, the chat template and
    the format of calls, are for local models; a server that leaves calls in its text takes the
    ``family``, as ``"qwen3"`` or ``"auto"``. ``state="vendor"`` has the vendor keep the conversation,
    and sends only what is new. ``background=True`` has replies made there, and fetches them when done.
    """
    carrier = transport or HttpTransport()
    if name not in PROVIDERS and is_local(name):
        return _local(name, carrier, as_text(api_key, name), profile, template, family)
    provider, place, model = _resolve(name)
    door = AccessSettings(provider, place, model, base_url, api_key, carrier).resolve()
    address = door.address(place if place in PROVIDERS else "", headers or {})
    prices = prices_of(provider.prices, model)
    made = WireModel(
        _dialect(provider, address.url, place, state, background=background),
        door.carrier,
        address,
        profile=_profile(provider, place, model, prices, profile),
        streaming=streaming,
        retry=retry,
        timeouts=timeouts,
        price=None if prices is None else prices.cost,
        defaults=quirks_of(place, model),
        keep_raw=keep_raw,
        watch=UnreadCalls(name) if family is None and provider.dialect == _CHAT else None,
        name=name,
    )
    if family is not None:
        if provider.dialect != _CHAT or background:
            raise UsageError(
                f"{name}: family= is for local models and for servers that speak like OpenAI's Chat, "
                "where they leave calls in the text; leave it out here"
            )
        from rightcall.models.text_calls import reading_model  # noqa: PLC0415 - light until used

        return reading_model(made, family, door)
    if background:
        from rightcall.request.background_model import BackgroundModel  # noqa: PLC0415 - light until used

        return BackgroundModel(made)
    return made


def _dialect(
    provider: Provider, url: str, place: str, state: Literal["vendor"] | None, *, background: bool
) -> Dialect:
    """The dialect at that address; a stateful one if the vendor is to store the conversation."""
    if (state or background) and not DIALECTS[provider.dialect].keeps:
        option = f"state={state!r}" if state else "background=True"
        raise UsageError(
            f"{place}: {option} is for vendors that keep conversations, as openai-responses:MODEL and "
            "gemini-interactions:MODEL; leave it out for other models"
        )
    if state is None:
        return load(provider.dialect, provider.ways_of or url)
    from rightcall.wire.vendor_state import kept_at  # noqa: PLC0415 - light until used

    there = urlsplit(url)
    at = f"{there.scheme}://{there.netloc.rpartition('@')[2]}{there.path.rstrip('/')}"
    return kept_at(provider.dialect, at)


def _local(
    name: str,
    carrier: Transport,
    key: str,
    profile: Profile | None,
    template: str | Path | None,
    family: str | None,
) -> Connected:
    # Checked before anything is loaded: a misspelt name must not demand an optional extra first.
    file = None
    if name.partition(":")[0] not in SERVERS:
        file = file_of(name)
    from rightcall.models.local import local_model  # noqa: PLC0415 - engines and templates

    return local_model(name, file, carrier, key=key, profile=profile, template=template, family=family)


_ELSEWHERE = {
    **dict.fromkeys(["google", "google-gla", "google_genai", "google-genai"], "gemini"),
    **dict.fromkeys(["google-vertex", "google_vertexai", "vertex_ai", "vertexai"], "vertex"),
}
"""Our names of providers, by those that other libraries use."""


def _resolve(name: str) -> tuple[Provider, str, str]:
    if name.startswith(("http://", "https://")):
        url, bar, model = name.partition("|")
        if not bar or not model:
            raise UsageError(f"{name!r}: write the address and the model as address|model")
        return Provider(dialect="openai_chat", url=url), url, model
    place, _, model = name.partition(":")
    provider = PROVIDERS.get(place)
    if provider is None:
        near = difflib.get_close_matches(place, PROVIDERS)
        if place in _ELSEWHERE:
            near = [_ELSEWHERE[place]]
        if "|" in name and "://" not in name:
            raise UsageError(f"{name!r}: an address begins with http:// or https://")
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"no provider {place!r}; {hint}there is {', '.join([*PROVIDERS, *SERVERS])}")
    if not model:
        raise UsageError(f"{name!r}: write the provider and the model as provider:model")
    return provider, place, model


def _profile(
    provider: Provider, place: str, model: str, prices: Prices | None, given: Profile | None
) -> Profile:
    listed = None if prices is None else prices.context_window
    profile = given or Profile(
        context_window=listed or context_window(place, model),
        structured=provider.structured or DIALECTS[provider.dialect].structured,
        forced_choice=provider.forced_choice and can_be_forced(model),
    )
    priced = profile.priced or prices is not None or provider.tells_cost or provider.is_free
    return replace(profile, priced=priced)

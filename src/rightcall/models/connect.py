"""Connects a model by name: ``"anthropic:claude-opus-4-8"`` -> dialect + transport + profile.

Names are ``provider:model``; a URL and a model for any OpenAI-compatible server,
``"http://localhost:8080/v1|qwen3"``; or a local model's name (see ``models.catalogue``).
"""

import difflib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol, Self
from urllib.parse import urlsplit

from msgspec.structs import replace

from rightcall.core.options import checked
from rightcall.core.ports import Dialect, Model
from rightcall.core.request import Profile
from rightcall.core.transport import Timeouts, Transport
from rightcall.errors import UsageError
from rightcall.models.catalogue import SERVERS, file_of, is_local
from rightcall.models.opening import Key, Opened, Wanted, as_text
from rightcall.models.prices import Prices, prices_of
from rightcall.models.providers import PROVIDERS, Provider, quirks_of
from rightcall.models.unread import UnreadCalls
from rightcall.request.retry import Retry
from rightcall.request.wire_model import WireModel
from rightcall.transport.http import HttpTransport
from rightcall.wire.claude import can_be_forced
from rightcall.wire.dialects import DIALECTS, load

_CHAT = "openai_chat"
"""The dialect of most servers, some of which leave calls in their text."""


class Connected(Model, Protocol):
    """A model with open resources: connections, or weights in memory."""

    async def close(self) -> None:
        """Close them, and end open streams. A closed model that is asked again reopens them."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


@checked("rc.connect", say="rc.connect(…, {}=…)")
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
    door = Wanted(provider, place, model, base_url, api_key, carrier).opened()
    address = door.address(place if place in PROVIDERS else "", headers or {})
    prices = prices_of(provider.prices, model)
    made = WireModel(
        _dialect(provider, address.url, place, state, background=background),
        door.carrier,
        address,
        profile=_profile(provider, model, prices, profile),
        streaming=streaming,
        retry=retry,
        timeouts=timeouts,
        price=None if prices is None else prices.cost,
        defaults=quirks_of(place, model),
        keep_raw=keep_raw,
        watch=UnreadCalls(name) if family is None and provider.dialect == _CHAT else None,
        name=name,
    )
    return _as_asked(made, family, door, background=background)


def _as_asked(model: WireModel, family: str | None, door: Opened, *, background: bool) -> Connected:
    """The model, wrapped to run in the background or to parse its text by family, if requested."""
    if family is None:
        return _in_background(model) if background else model
    if model.dialect.name != _CHAT or background:
        raise UsageError(
            f"{model.name}: family= is for local models and for servers that speak like OpenAI's Chat, "
            "where they leave calls in the text; leave it out here"
        )
    from rightcall.models.reading import reading_model  # noqa: PLC0415 - families, light until used

    return reading_model(model, family, door)


def _in_background(model: WireModel) -> Connected:
    from rightcall.request.deferred import DeferredModel  # noqa: PLC0415 - light until used

    return DeferredModel(model)


def _dialect(
    provider: Provider, url: str, place: str, state: Literal["vendor"] | None, *, background: bool
) -> Dialect:
    """The dialect at that address; a stateful one if the vendor is to store the conversation."""
    if (state or background) and not DIALECTS[provider.dialect].keeps:
        option = "background=True" if state is None else f"state={state!r}"
        raise UsageError(
            f"{place}: {option} is for vendors that keep conversations, as openai-responses:MODEL and "
            "gemini-interactions:MODEL; leave it out for other models"
        )
    if state is None:
        return load(provider.dialect, provider.ways_of or url)
    there = urlsplit(url)
    at = f"{there.scheme}://{there.netloc.rpartition('@')[2]}{there.path.rstrip('/')}"
    kept: Dialect = import_module(f"rightcall.wire.{provider.dialect}.state").kept_at(at)
    return kept


def _local(
    name: str,
    carrier: Transport,
    key: str,
    profile: Profile | None,
    template: str | Path | None,
    family: str | None,
) -> Connected:
    # Checked before anything is loaded: a misspelt name must not demand an optional extra first.
    file = None if name.partition(":")[0] in SERVERS else file_of(name)
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
        near = (
            [_ELSEWHERE[place]] if place in _ELSEWHERE else difflib.get_close_matches(place, PROVIDERS)
        )
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"no provider {place!r}; {hint}there is {', '.join([*PROVIDERS, *SERVERS])}")
    if not model:
        raise UsageError(f"{name!r}: write the provider and the model as provider:model")
    return provider, place, model


def _profile(provider: Provider, model: str, prices: Prices | None, given: Profile | None) -> Profile:
    window = None if prices is None else prices.context_window
    profile = given or Profile(
        context_window=window,
        structured=provider.structured or DIALECTS[provider.dialect].structured,
        forced_choice=provider.forced_choice and can_be_forced(model),
    )
    priced = profile.priced or prices is not None or provider.tells_cost or provider.is_free
    return replace(profile, priced=priced)

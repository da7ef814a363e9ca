"""The models behind a gateway: connected at the first request, kept across reloads, and closed."""

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from rightcall.core.ports import Model
from rightcall.core.transport import Timeouts
from rightcall.errors import UsageError
from rightcall.models.connect import Connected, connect
from rightcall.models.opening import Key as ApiKey
from rightcall.request.retry import Retry
from rightcall.request.wire_model import WireModel
from rightcall.serve.gateway.routing import Candidate
from rightcall.serve.gateway.settings import Place, Served, Settings, Trying

ONCE = Retry(attempts=1)
"""No retries here: the gateway itself retries, as it knows the other places, too."""
_MOST_NAMES = 64
"""Models of a pattern that are kept; limited, because clients choose their names."""

_PLAIN = re.compile(r"[A-Za-z0-9][\w.@:/+ -]{0,199}")

Open: TypeAlias = Callable[[str, Place, Trying], Model]
"""Opens a model: from its name, its place, and how patiently it is asked."""


def opened(use: str, place: Place, trying: Trying, key: ApiKey | None = None) -> Connected:
    """The model at a place, by the name given there; uses ``key`` unless the place has one."""
    return connect(
        use,
        base_url=place.base_url,
        api_key=_key(place) or key,
        headers=place.headers or None,
        retry=ONCE,
        timeouts=Timeouts(first_byte=trying.first_byte_seconds, between_chunks=trying.between_seconds),
        family=place.family,
        template=place.template,
    )


def _key(place: Place) -> str | None:
    if place.key_env:
        if not (key := os.environ.get(place.key_env)):
            raise UsageError(f"{place.use}: the variable {place.key_env} is not set")
        return key
    if not place.key_file:
        return None
    try:
        return Path(place.key_file).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{place.use}: the key in {place.key_file} cannot be read: {error}") from None


class Upstream:
    """One place, with its model; or its models, if its name leaves that to the client."""

    def __init__(self, place: Place, trying: Trying, open_: Open) -> None:
        self.place = place
        self.name = place.use
        self._trying = trying
        self._open = open_
        self._models: OrderedDict[str, Model] = OrderedDict()
        self._users = 0
        self._is_retired = False

    def enter(self) -> None:
        """Note that an exchange begins to use it."""
        self._users += 1

    async def leave(self) -> None:
        """Note that an exchange is over; the last one closes a place that is no longer served."""
        self._users -= 1
        if self._is_retired and not self._users:
            await self.close()

    async def retire(self) -> None:
        """Close it, as soon as no exchange uses it."""
        self._is_retired = True
        if not self._users:
            await self.close()

    def model(self, asked: str) -> Model:
        """The model for the name that a client asked for."""
        use = self.place.use.replace("*", asked)
        model = self._models.get(use)
        if model is None:
            model = self._models[use] = self._open(use, self.place, self._trying)
            if len(self._models) > _MOST_NAMES:
                # It owns no connection, it only shares one: nothing has to be closed.
                self._models.popitem(last=False)
        elif len(self._models) > 1:
            self._models.move_to_end(use)
        return model

    def known(self, asked: str) -> Model | None:
        """The model for a name, if it was opened before."""
        return self._models.get(self.place.use.replace("*", asked))

    async def close(self) -> None:
        """Close the opened models."""
        for model in self._models.values():
            close = getattr(model, "close", None)
            if close is not None:
                await close()


class Route:
    """A served model: its places, and its fallbacks."""

    def __init__(self, name: str, served: Served, places: Sequence[Candidate[Upstream]]) -> None:
        self.name = name
        self.served = served
        self.places = places

    def known(self, asked: str) -> Model | None:
        """A model of that name, if one was opened before: its price is known."""
        return next((found for each in self.places if (found := each.target.known(asked))), None)

    def places_for(self, asked: str) -> list[Candidate[Upstream]]:
        """The places for a requested model, each with the health of that model."""
        return [each.named(asked) if "*" in each.target.place.use else each for each in self.places]


class Upstreams:
    """All served models, by the current settings."""

    def __init__(self, open_: Open = opened) -> None:
        self._open = open_
        self._routes: Mapping[str, Route] = {}
        self._opened: Mapping[bytes, Candidate[Upstream]] = {}
        """By everything that each was opened with."""
        self._settings = Settings()

    def apply(self, settings: Settings) -> tuple[Upstream, ...]:
        """Serve what these settings say; returns the places that are no longer served, to be closed.

        An unchanged place keeps its connections and its health. A place that cannot be opened, for want
        of a key, raises UsageError, and nothing is changed.
        """
        before = dict(self._opened)
        routes: dict[str, Route] = {}
        for name, served in settings.models.items():
            places = []
            for place in served.places:
                written = _written(place, settings.trying)
                kept = before.get(written)
                if kept is None:
                    upstream = Upstream(place, settings.trying, self._open)
                    if "*" not in place.use:
                        # Opened now: an error is for the operator, and not for a client.
                        upstream.model("")
                    salt = f"{place.use} {place.base_url or ''} {place.key_env}"
                    kept = Candidate(salt, upstream, place.weight)
                    before[written] = kept
                places.append(kept)
            routes[name] = Route(name, served, places)
        self._routes, self._settings = routes, settings
        used = {id(candidate.target) for route in routes.values() for candidate in route.places}
        self._opened = {written: each for written, each in before.items() if id(each.target) in used}
        return tuple(each.target for each in before.values() if id(each.target) not in used)

    def route(self, name: str) -> Route | None:
        """The route of a name."""
        served = self._settings.served(name)
        if served is None:
            return None
        route = next(route for route in self._routes.values() if route.served is served)
        # A name that a client made up becomes part of a URL.
        is_plain = "*" not in route.name or (_PLAIN.fullmatch(name) and ".." not in name)
        return route if is_plain else None

    def course(self, route: Route) -> Iterator[Route]:
        """The route, and those that it falls back on, each once."""
        seen: set[str] = set()
        waiting = [route]
        while waiting:
            each = waiting.pop(0)
            if each.name not in seen:
                seen.add(each.name)
                yield each
                waiting += [self._routes[name] for name in each.served.fallback if name in self._routes]

    async def close(self) -> None:
        """Close all places."""
        for upstream in self.apply(Settings()):
            await upstream.close()


def _written(place: Place, trying: Trying) -> bytes:
    """Everything that a place is opened with; includes a key from a file, which may have changed."""
    return msgspec.json.encode((place, trying, _key(place) if place.key_file else ""))


def dialect_of(model: Model) -> str:
    """The dialect of a model over the network; empty for any other model."""
    return model.dialect.name if isinstance(model, WireModel) else ""

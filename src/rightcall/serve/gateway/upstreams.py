"""The models behind a gateway: connected at the first request, kept across reloads, and closed."""

import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from math import log
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

import msgspec

from rightcall.core.ports import Model
from rightcall.core.transport import Timeouts
from rightcall.errors import RightcallError, TransportError, UsageError, VendorError
from rightcall.models.connect import Connected, connect
from rightcall.models.provider_access import Key as ApiKey
from rightcall.request.retry import Retry
from rightcall.request.wire_model import WireModel
from rightcall.serve.gateway.settings import Place, Served, Settings, Trying

_FIRST_REST = 1.0
_LONGEST_REST = 60.0
_SPAN = float(2**64)
_MOST_TRIED_NAMES = 64
"""Models of one place whose health is tracked; limited, because clients choose their names."""
Target = TypeVar("Target")


class Health:
    """The recent failures of a place."""

    __slots__ = ("_clock", "failures", "refused_until", "rests_until")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.failures = 0
        self.rests_until = 0.0
        """Until then, other places are asked first."""
        self.refused_until = 0.0
        """Until then it must not be asked, as it said itself."""

    def note_success(self) -> None:
        """Note that it answered."""
        self.failures = 0
        self.rests_until = self.refused_until = 0.0

    def note_failure(self, error: RightcallError) -> None:
        """Note that it failed: avoid it for a while, or for as long as it asked for."""
        if not is_its_fault(error):
            return
        now = self._clock()
        self.failures += 1
        rest = min(_FIRST_REST * 2.0 ** (self.failures - 1), _LONGEST_REST)
        asked = None
        if isinstance(error, VendorError):
            asked = error.retry_after
        if asked is not None and asked > 0:
            self.refused_until = now + asked
            rest = max(rest, asked)
        self.rests_until = now + rest

    @property
    def rest(self) -> float:
        """Seconds for which other places are asked first."""
        return max(self.rests_until - self._clock(), 0.0)

    @property
    def refusal(self) -> float:
        """Seconds for which it must not be asked at all."""
        return max(self.refused_until - self._clock(), 0.0)


def is_its_fault(error: RightcallError) -> bool:
    """Whether another place may do better: this one is down, busy or locked, and the request is fine."""
    if isinstance(error, VendorError):
        return error.retryable or error.kind in (
            *("rate_limit", "overloaded", "server", "timeout", "auth", "quota"),
        )
    return isinstance(error, TransportError)


class UpstreamCandidate(Generic[Target]):
    """A place among others."""

    __slots__ = ("_name", "_named", "_salt", "health", "target", "weight")

    def __init__(self, name: str, target: Target, weight: float = 1.0) -> None:
        self.target = target
        self.weight = weight
        self.health = Health()
        self._name = name
        self._salt = name.encode()
        self._named: OrderedDict[str, UpstreamCandidate[Target]] = OrderedDict()

    def for_model(self, model: str) -> "UpstreamCandidate[Target]":
        """The candidate for one of its models: vendors are overloaded, and limit rates, per model."""
        found = self._named.get(model)
        if found is None:
            found = self._named[model] = UpstreamCandidate(self._name, self.target, self.weight)
            if len(self._named) > _MOST_TRIED_NAMES:
                self._named.popitem(last=False)
        else:
            self._named.move_to_end(model)
        return found

    def score(self, beginning: bytes) -> float:
        """The place's score for a conversation: the highest is asked first."""
        drawn = int.from_bytes(blake2b(beginning, digest_size=8, key=self._salt[:64]).digest(), "big")
        return -self.weight / log((drawn + 0.5) / _SPAN)


def order_candidates(
    candidates: Sequence[UpstreamCandidate[Target]], beginning: bytes
) -> tuple[UpstreamCandidate[Target], ...]:
    """The candidates, best first: those that rest come last, those that refuse are left out.

    Places are ordered by weighted rendezvous hashing of the key and the beginning of the conversation:
    each gets its share of conversations, one conversation stays where its beginning is in the vendor's
    cache, and a place that goes away moves only its own conversations.
    """
    willing = [each for each in candidates if not each.health.refusal]
    if len(willing) == 1:
        return tuple(willing)
    return tuple(sorted(willing, key=lambda each: (each.health.rest > 0, -each.score(beginning))))


def least_wait(candidates: Sequence[UpstreamCandidate[Target]]) -> float:
    """Seconds until the first of the candidates may be asked again."""
    return min((each.health.refusal for each in candidates), default=0.0)


ONCE = Retry(attempts=1)
"""No retries here: the gateway itself retries, as it knows the other places, too."""
_MOST_NAMES = 64
"""Models of a pattern that are kept; limited, because clients choose their names."""

_PLAIN = re.compile(r"[A-Za-z0-9][\w.@:/+ -]{0,199}")

Open: TypeAlias = Callable[[str, Place, Trying], Model]
"""Opens a model: from its name, its place, and how patiently it is asked."""


def open_model(use: str, place: Place, trying: Trying, key: ApiKey | None = None) -> Connected:
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

    def find_open_model(self, asked: str) -> Model | None:
        """The model for a name, if it was opened before."""
        return self._models.get(self.place.use.replace("*", asked))

    async def close(self) -> None:
        """Close the opened models."""
        for model in self._models.values():
            close = getattr(model, "close", None)
            if close is not None:
                await close()


class ModelRoute:
    """A served model: its places, and its fallbacks."""

    def __init__(
        self,
        name: str,
        served: Served,
        places: Sequence[UpstreamCandidate[Upstream]],
        owns: Callable[[str], bool] | None = None,
    ) -> None:
        self.name = name
        self.owns = owns
        """Of a pattern: whether a model's name is one that it stands for."""
        self.served = served
        self.places = places
        self.is_agent = served.is_agent
        self.is_wrapped = served.is_agent or bool(served.rules)
        """Whether something is added to the model, so that nothing is passed through."""
        self.has_budget = served.has_budget
        self.has_patterns = any("*" in place.use for place in served.places)
        self.course: tuple[ModelRoute, ...] = (self,)
        """The route, and those that it falls back on, each once."""
        self.course_has_budget = served.has_budget

    def find_open_model(self, asked: str) -> Model | None:
        """A model of that name, if one was opened before: its price is known."""
        for each in self.places:
            if (model := each.target.find_open_model(asked)) is not None:
                return model
        return None

    def places_for(self, asked: str) -> Sequence[UpstreamCandidate[Upstream]]:
        """The places for a requested model, each with the health of that model."""
        if not self.has_patterns:
            return self.places
        candidates = []
        for candidate in self.places:
            if "*" in candidate.target.place.use:
                candidates.append(candidate.for_model(asked))
            else:
                candidates.append(candidate)
        return candidates


class Upstreams:
    """All served models, by the current settings."""

    def __init__(self, open_: Open = open_model) -> None:
        self._open = open_
        self._routes: Mapping[str, ModelRoute] = {}
        self._opened: dict[bytes, UpstreamCandidate[Upstream]] = {}
        """By everything that each was opened with."""
        self._settings = Settings()

    def apply(self, settings: Settings) -> tuple[Upstream, ...]:
        """Serve what these settings say; returns the places that are no longer served, to be closed.

        An unchanged place keeps its connections and its health. A place that cannot be opened, for want
        of a key, raises UsageError, and nothing is changed.
        """
        before = dict(self._opened)
        routes: dict[str, ModelRoute] = {}
        for name, served in settings.models.items():
            places = []
            for place in served.places:
                written = msgspec.json.encode(
                    (place, settings.trying, _key(place) if place.key_file else "")
                )
                kept = before.get(written)
                if kept is None:
                    upstream = Upstream(place, settings.trying, self._open)
                    if "*" not in place.use:
                        # Opened now: an error is for the operator, and not for a client.
                        upstream.model("")
                    salt = f"{place.use} {place.base_url or ''} {place.key_env}"
                    kept = UpstreamCandidate(salt, upstream, place.weight)
                    before[written] = kept
                places.append(kept)
            owns = None
            if "*" in name:
                owns = partial(_is_served_as, settings, served)
            routes[name] = ModelRoute(name, served, places, owns)
        for route in routes.values():
            course: dict[str, ModelRoute] = {}
            waiting = [route.name]
            while waiting:
                name = waiting.pop(0)
                if name in routes and name not in course:
                    course[name] = routes[name]
                    waiting += routes[name].served.fallback
            route.course = tuple(course.values())
            route.course_has_budget = any(each.has_budget for each in route.course)
        self._routes = routes
        self._settings = settings
        used = set()
        for route in routes.values():
            for candidate in route.places:
                used.add(id(candidate.target))
        self._opened = {}
        unused = []
        for written, candidate in before.items():
            if id(candidate.target) in used:
                self._opened[written] = candidate
            else:
                unused.append(candidate.target)
        return tuple(unused)

    def route(self, name: str) -> ModelRoute | None:
        """The route of a name."""
        route = self._routes.get(name)
        if route is not None and "*" not in name:
            return route
        served = self._settings.served_model(name)
        # A name that a client made up becomes part of a URL.
        if served is None or ".." in name or not _PLAIN.fullmatch(name):
            return None
        return next(route for route in self._routes.values() if route.served is served)

    async def close(self) -> None:
        """Close all places."""
        for upstream in self.apply(Settings()):
            await upstream.close()


def _is_served_as(settings: Settings, served: Served, name: str) -> bool:
    """Whether a model of that name is this one: patterns may overlap, and the first counts."""
    return settings.served_model(name) is served


def dialect_of(model: Model) -> str:
    """The dialect of a model over the network; empty for any other model."""
    return model.dialect.name if isinstance(model, WireModel) else ""

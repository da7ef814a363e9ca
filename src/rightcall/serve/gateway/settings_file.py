"""An operator's TOML file into settings, or into everything that is wrong with it.

listen = "127.0.0.1:9000"
[models]
fast = "openai:gpt-5-mini"
[models.careful]
places = [{ use = "anthropic:claude-opus-4-8" }, { use = "bedrock-anthropic:...", weight = 2 }]
fallback = ["fast"]
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from rightcall.errors import UsageError
from rightcall.serve.gateway.settings import Bounds, Served, Settings, Trying
from rightcall.trust.file import Mistake

_TABLES: Mapping[str, type[Struct]] = {"bounds": Bounds, "trying": Trying}
_AT = re.compile(r" - at `\$(.*)`")


def read_settings(path: Path) -> Settings:
    """The settings in a file. Raises UsageError with everything that is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    settings, mistakes = parse_settings(text)
    if mistakes:
        lines = "\n".join(f"{path}:{each.line}: {each.words}" for each in mistakes)
        raise UsageError(f"the configuration cannot be used:\n{lines}")
    return settings


def parse_settings(text: str) -> tuple[Settings, tuple[Mistake, ...]]:
    """The settings in a TOML text, and all its mistakes; the settings are valid only without any."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else max(len(text.splitlines()), 1)
        return Settings(), (Mistake(line, f"not TOML: {error}"),)
    reader = _Reader(text)
    settings = reader.settings(document)
    return settings, tuple(sorted(reader.mistakes, key=lambda each: each.line))


def with_models(settings: Settings, given: Sequence[str]) -> Settings:
    """The settings with the models of ``NAME=SPEC`` arguments, which take precedence over the file's."""
    models: dict[str, Served] = {}
    for each in given:
        name, sign, use = each.partition("=")
        if not sign or not name.strip() or not use.strip():
            raise UsageError(f"--model {each}: write NAME=SPEC, as fast=openai:gpt-5-mini")
        models[name.strip()] = msgspec.convert(_spelt_out(use.strip()), Served)
    return msgspec.structs.replace(settings, models={**models, **settings.models, **models})


def _spelt_out(given: object) -> object:
    """A model given in a short form, written out: a name, or one place beside the other members."""
    if isinstance(given, str):
        return {"places": [{"use": given}]}
    if isinstance(given, dict) and "use" in given and "places" not in given:
        names = {each.name for each in fields(Served)}
        place = {name: value for name, value in given.items() if name not in names}
        return {name: value for name, value in given.items() if name in names} | {"places": [place]}
    return given


class _Reader:
    """Reads a document table by table, so that one mistake does not hide the next."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self.mistakes: list[Mistake] = []

    def settings(self, document: Mapping[str, Any]) -> Settings:
        members = {each.name: each.type for each in fields(Settings)}
        values: dict[str, Any] = {}
        for name, value in document.items():
            if name == "models":
                values[name] = self._models(value)
            elif name in _TABLES:
                values[name] = self._converted((name,), value, _TABLES[name])
            elif name in members:
                values[name] = self._converted((name,), value, members[name])
            else:
                self._wrong((name,), f"there is no {name!r}; there is {', '.join(members)}")
        return Settings(**{name: value for name, value in values.items() if value is not None})

    def _models(self, given: object) -> Mapping[str, Served]:
        if not isinstance(given, dict):
            self._wrong(("models",), 'models is a table: [models], then NAME = "SPEC"')
            return {}
        found: dict[str, Served] = {}
        for name, value in given.items():
            served = self._converted(("models", name), _spelt_out(value), Served)
            if served is not None:
                found[name] = served
                self._look_at(name, served, given)
        return found

    def _look_at(self, name: str, served: Served, given: Mapping[str, Any]) -> None:
        path = ("models", name)
        if not served.places:
            self._wrong(path, f'{name}: say what is asked: use = "PROVIDER:MODEL", or places = [...]')
        for other in served.fallback:
            if other not in given:
                self._wrong((*path, "fallback"), f"fallback: no model {other!r} is served")
        for place in served.places:
            if "*" in place.use and not place.use.endswith((":*", "|*")):
                words = f"{name}: {place.use!r}: a * stands for all of a model's name: PROVIDER:*"
                self._wrong(path, words)
            elif "*" in place.use and "*" not in name:
                self._wrong(
                    path, f'{name}: {place.use!r} needs a name with *, such as [models."claude-*"]'
                )

    def _converted(self, path: tuple[str, ...], value: object, kind: Any) -> Any:
        """The value as the type it should have; None if it does not fit, with all mistakes noted."""
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            where = _AT.search(str(error))
            inner = re.findall(r"\.(\w+)", where[1]) if where else []
            words = _AT.sub("", str(error))
            member = re.search(r"unknown field `(\w+)`", words)
            named = (*inner, *([member[1]] if member else []))
            at = ".".join((*path, *inner))
            self._wrong((*path, *named), f"{at}: {words}")
        if isinstance(value, dict) and named and named[0] in value:
            # Find further mistakes: the conversion stops at the first.
            rest = {name: each for name, each in value.items() if name != named[0]}
            self._converted(path, rest, kind)
        return None

    def _wrong(self, path: tuple[str, ...], words: str) -> None:
        self.mistakes.append(Mistake(self._line_of(path), words))

    def _line_of(self, path: tuple[str, ...]) -> int:
        """The line of the last part of a path that can be found."""
        line = 0
        for name in path:
            line = next(self._lines_with(name, line), line)
        return line + 1

    def _lines_with(self, name: str, start: int) -> Iterator[int]:
        spelt = rf'(?:{re.escape(name)}|"{re.escape(name)}"|\'{re.escape(name)}\')'
        wanted = re.compile(rf"(?:^|[\[{{.,\s]){spelt}\s*(?:[\].=]|$)")
        return (at for at in range(start, len(self._lines)) if wanted.search(self._lines[at]))

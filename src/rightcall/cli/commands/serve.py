"""Serve models to any client; manage the gateway's own keys; show the spend."""

import sys
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from rightcall.cli import OK
from rightcall.cli.keys import key_for
from rightcall.cli.load import (
    add_manifests,
    found_at,
    is_place,
    load_journal,
    load_model,
    load_tools,
)
from rightcall.cli.places import config_folder, write_privately
from rightcall.cli.telemetry import telemetry
from rightcall.core.extras import require
from rightcall.core.ports import Model
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import UsageError
from rightcall.serve.gateway.gateway import Gateway
from rightcall.serve.gateway.keys import Allowed, Keys, as_file, made, read_keys, revoked
from rightcall.serve.gateway.server import run as run_gateway
from rightcall.serve.gateway.settings import Place, Served, Settings, Trying
from rightcall.serve.gateway.settings_file import read_settings, with_models
from rightcall.serve.gateway.spend import Spend
from rightcall.serve.gateway.upstreams import opened

_KEYS = "gateway-keys.json"


def run(options: Namespace) -> int:
    """Serve until SIGINT or SIGTERM; or execute the action on keys or spend."""
    if options.action == "keys":
        return _keys(options)
    if options.action == "spend":
        return _spend(options)
    require("uvicorn")

    def read() -> tuple[Settings, Keys]:
        settings = _settings(options)
        for served in {(each.tools, each.manifests): each for each in settings.models.values()}.values():
            # Loaded now, so that the operator, not a client, learns of tools that cannot be loaded.
            _box_of(served)
        return settings, read_keys(_keys_file(options, settings))

    settings, keys = read()
    if settings.keys and not keys.all:
        # Naming a file of keys means a closed gateway: a typo in the name must not open it.
        raise UsageError(
            f"there are no keys in {settings.keys}; make one with 'rightcall serve keys add NAME --keys "
            f"{settings.keys}', or name no file of keys, and this machine is served without"
        )
    if not settings.models:
        raise UsageError("which models? rightcall serve --model NAME=SPEC, or --config FILE.toml")
    journal = load_journal(settings.journal) if settings.journal else None
    observers = [telemetry()] if options.otel else []
    gateway = Gateway(
        settings, keys, open_=_opened, load_tools=_tools_of, journal=journal, observers=observers
    )
    files = (_keys_file(options, settings), *([Path(options.config)] if options.config else ()))
    run_gateway(gateway, read, files, _say)
    return OK


def _opened(use: str, place: Place, trying: Trying) -> Model:
    """A model from a user's file, or one by name, with its stored key."""
    if is_place(use):
        return load_model(use)
    has_key = place.key_env or place.key_file or place.base_url is not None
    return opened(use, place, trying, None if has_key else key_for(use))


def _box_of(served: Served) -> Toolbox:
    box = Toolbox(
        *(load_tools(each) if is_place(each) else found_at("--tools", each) for each in served.tools)
    )
    return add_manifests(box, Namespace(manifests=served.manifests, sandbox=None))


async def _tools_of(served: Served) -> ToolSource:
    """The tools that the gateway itself runs for a served model."""
    box = _box_of(served)
    if not served.mcp:
        return box
    from rightcall.cli.servers import open_servers  # noqa: PLC0415 - MCP is an extra

    return [box, await open_servers([served.mcp])]


def _settings(options: Namespace) -> Settings:
    settings = read_settings(Path(options.config)) if options.config else Settings()
    given = {name: getattr(options, name, None) for name in ("listen", "keys", "spend", "journal")}
    settings = replace(settings, **{name: value for name, value in given.items() if value})
    settings = with_models(settings, getattr(options, "models", ()))
    tools, manifests, mcp = options.tools, options.manifests, options.mcp
    if tools or manifests or mcp:
        agents = {
            name: replace(served, tools=tuple(tools), manifests=tuple(manifests), mcp=mcp or "")
            for name, served in settings.models.items()
        }
        settings = replace(settings, models=agents)
    return settings


def _keys_file(options: Namespace, settings: Settings | None = None) -> Path:
    given = getattr(options, "keys", None) or (settings.keys if settings else "")
    if not given and settings is None and options.config:
        given = read_settings(Path(options.config)).keys
    return Path(given) if given else config_folder() / _KEYS


def _say(address: str) -> None:
    print(f"rightcall: serving at {address}", file=sys.stderr, flush=True)


def _keys(options: Namespace) -> int:
    file = _keys_file(options)
    keys, today = read_keys(file), datetime.now(UTC).date().isoformat()
    if options.doing == "list":
        for key in keys.all:
            print(_line(key, as_json=options.json))
        return OK
    if options.doing == "revoke":
        write_privately(file, as_file(revoked(keys, options.name, today).all))
        return OK
    limits = {
        "per_minute": options.per_minute,
        "tokens_per_day": options.tokens_per_day,
        "dollars_per_day": options.dollars_per_day,
        "concurrency": options.concurrency,
    }
    if options.models:
        limits["models"] = [each.strip() for each in options.models.split(",") if each.strip()]
    try:
        allowed = msgspec.convert({k: v for k, v in limits.items() if v is not None}, Allowed)
    except msgspec.ValidationError as error:
        raise UsageError(f"rightcall serve keys add: {error}") from None
    keys, text = made(keys, options.name, allowed, today)
    write_privately(file, as_file(keys.all))
    print(text)
    print(f"rightcall: this is shown once; its hash is in {file}", file=sys.stderr)
    return OK


def _line(key: Any, *, as_json: bool) -> str:
    told = {name: value for name, value in msgspec.to_builtins(key).items() if name != "hash"}
    if as_json:
        return msgspec.json.encode(told).decode()
    limits = ", ".join(
        f"{name.replace('_', ' ')} {value if isinstance(value, str | int | float) else ' '.join(value)}"
        for name, value in asdict(key.allowed).items()
        if value is not None
    )
    state = f"revoked {key.revoked}" if key.revoked else f"since {key.created}"
    return f"{key.name:<20} {key.id}  {state}  {limits}"


def _spend(options: Namespace) -> int:
    settings = read_settings(Path(options.config)) if options.config else Settings()
    if not settings.spend:
        raise UsageError("where is it kept? rightcall serve spend --config FILE.toml, with spend = ...")
    for row in Spend(settings.spend).rows(options.since):
        if options.json:
            print(msgspec.json.encode(row).decode())
        else:
            tokens = f"{row.input_tokens:>12,} in {row.output_tokens:>10,} out"
            who = f"{row.day}  {row.key:<16} {row.model:<24}"
            print(f"{who} {row.requests:>7,} {tokens} {row.dollars:>10.4f} $")
    return OK

"""Serve models to any client; manage the gateway's own keys; show the spend."""

import os
import sys
from argparse import Namespace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from rightcall import cli
from rightcall.cli import OK
from rightcall.cli.load import add_manifests, is_place, load_journal, load_model, load_tools, object_at
from rightcall.cli.user_config import key_for
from rightcall.core.optional_libraries import load, require
from rightcall.core.ports import Model
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import UsageError
from rightcall.serve.gateway.gateway import Gateway
from rightcall.serve.gateway.keys import Allowed, Keys, add_key, encode_keys, read_keys, revoke_key
from rightcall.serve.gateway.server import run as run_gateway
from rightcall.serve.gateway.settings import Place, Served, Settings, Trying, read_settings, with_models
from rightcall.serve.gateway.spend import Spend
from rightcall.serve.gateway.upstreams import open_model
from rightcall.user_files import config_folder, write_privately

_EXPORTERS = ("otlp", "console", "none")
_OTLP = "opentelemetry.exporter.otlp.proto.http"
_MISSING = (
    "--otel sends what it traces by OTLP: pip install 'rightcall[otel]' opentelemetry-sdk "
    "opentelemetry-exporter-otlp-proto-http"
)


def telemetry_observer() -> Any:
    """An observer that traces with an SDK: the process's own, or one that is set up here.

    ``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_SERVICE_NAME`` and the SDK's other variables set the endpoint
    and the service name.
    """
    load("opentelemetry")
    observer = load("rightcall.observe.otel_observer").OpenTelemetry()
    # Where opentelemetry-instrument has already set up an SDK, that one is used.
    try:
        trace = import_module("opentelemetry.trace")
        sdk = import_module("opentelemetry.sdk.trace")
        exporter = _exporter("traces", "trace", "ConsoleSpanExporter", "OTLPSpanExporter")
        if exporter is not None and not isinstance(trace.get_tracer_provider(), sdk.TracerProvider):
            provider = sdk.TracerProvider()
            provider.add_span_processor(sdk.export.BatchSpanProcessor(exporter))
            trace.set_tracer_provider(provider)
        metrics = import_module("opentelemetry.metrics")
        sdk = import_module("opentelemetry.sdk.metrics")
        exporter = _exporter("metrics", "metric", "ConsoleMetricExporter", "OTLPMetricExporter")
        if exporter is not None and not isinstance(metrics.get_meter_provider(), sdk.MeterProvider):
            export = import_module("opentelemetry.sdk.metrics.export")
            reader = export.PeriodicExportingMetricReader(exporter)
            metrics.set_meter_provider(sdk.MeterProvider([reader]))
    except ModuleNotFoundError as error:
        raise UsageError(_MISSING) from error
    return observer


def _exporter(signal: str, module: str, console: str, otlp: str) -> Any:
    """The exporter that ``OTEL_TRACES_EXPORTER`` or a similar variable names; None for none."""
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    named = os.environ.get(variable) or "otlp"
    if named not in _EXPORTERS:
        raise UsageError(f"{variable}={named}: there is {', '.join(_EXPORTERS)}")
    if named == "none":
        return None
    if named == "console":
        sdk = "trace" if signal == "traces" else "metrics"
        return getattr(import_module(f"opentelemetry.sdk.{sdk}.export"), console)()
    return getattr(import_module(f"{_OTLP}.{module}_exporter"), otlp)()


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
    if settings.journal:
        journal = load_journal(settings.journal)
    else:
        journal = None
    observers = [telemetry_observer()] if options.otel else []
    gateway = Gateway(
        settings, keys, open_=_open_model, load_tools=_tools_of, journal=journal, observers=observers
    )
    files = (_keys_file(options, settings), *([Path(options.config)] if options.config else ()))
    run_gateway(gateway, read, files, _say)
    return OK


def _open_model(use: str, place: Place, trying: Trying) -> Model:
    """A model from a user's file, or one by name, with its stored key."""
    if is_place(use):
        return load_model(use)
    has_key = place.key_env or place.key_file or place.base_url is not None
    return open_model(use, place, trying, None if has_key else key_for(use))


def _box_of(served: Served) -> Toolbox:
    sources = []
    for each in served.tools:
        if is_place(each):
            sources.append(load_tools(each))
        else:
            sources.append(object_at("--tools", each))
    return add_manifests(Toolbox(*sources), Namespace(manifests=served.manifests, sandbox=None))


async def _tools_of(served: Served) -> ToolSource:
    """The tools that the gateway itself runs for a served model."""
    box = _box_of(served)
    if not served.mcp:
        return box
    return [box, await cli.servers.open_servers([served.mcp])]


def _settings(options: Namespace) -> Settings:
    settings = Settings()
    if options.config:
        settings = read_settings(Path(options.config))
    for name in ("listen", "keys", "spend", "journal"):
        if value := getattr(options, name, None):
            settings = replace(settings, **{name: value})
    settings = with_models(settings, getattr(options, "models", ()))
    if not (options.tools or options.manifests or options.mcp):
        return settings
    tools = tuple(options.tools)
    manifests = tuple(options.manifests)
    agents = {}
    for name, served in settings.models.items():
        agents[name] = replace(served, tools=tools, manifests=manifests, mcp=options.mcp or "")
    return replace(settings, models=agents)


def _keys_file(options: Namespace, settings: Settings | None = None) -> Path:
    given = getattr(options, "keys", None) or (settings.keys if settings else "")
    if not given and settings is None and options.config:
        given = read_settings(Path(options.config)).keys
    if given:
        return Path(given)
    return config_folder() / _KEYS


def _say(address: str) -> None:
    print(f"rightcall: serving at {address}", file=sys.stderr, flush=True)


def _keys(options: Namespace) -> int:
    file = _keys_file(options)
    keys = read_keys(file)
    today = datetime.now(UTC).date().isoformat()
    if options.doing == "list":
        for key in keys.all:
            print(_line(key, as_json=options.json))
        return OK
    if options.doing == "revoke":
        write_privately(file, encode_keys(revoke_key(keys, options.name, today).all))
        return OK
    limits: dict[str, Any] = {}
    for limit in ("per_minute", "tokens_per_day", "dollars_per_day", "concurrency"):
        number = getattr(options, limit)
        if number is not None:
            limits[limit] = number
    if options.models:
        names = map(str.strip, options.models.split(","))
        limits["models"] = list(filter(None, names))
    try:
        allowed = msgspec.convert(limits, Allowed)
    except msgspec.ValidationError as error:
        raise UsageError(f"rightcall serve keys add: {error}") from None
    keys, text = add_key(keys, options.name, allowed, today)
    write_privately(file, encode_keys(keys.all))
    print(text)
    print(f"rightcall: this is shown once; its hash is in {file}", file=sys.stderr)
    return OK


def _line(key: Any, *, as_json: bool) -> str:
    if as_json:
        fields = msgspec.to_builtins(key)
        fields.pop("hash", None)
        return msgspec.json.encode(fields).decode()
    limits = []
    for name, value in asdict(key.allowed).items():
        if isinstance(value, str | int | float):
            limits.append(f"{name.replace('_', ' ')} {value}")
        elif value is not None:
            limits.append(f"{name.replace('_', ' ')} {' '.join(value)}")
    state = f"since {key.created}"
    if key.revoked:
        state = f"revoked {key.revoked}"
    return f"{key.name:<20} {key.id}  {state}  {', '.join(limits)}"


def _spend(options: Namespace) -> int:
    settings = Settings()
    if options.config:
        settings = read_settings(Path(options.config))
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

"""A dialect is a folder of one recipe and a row in one table; everybody else reads the table."""

import re
import tomllib
from inspect import getmodule
from pathlib import Path

import pytest

import rightcall as rc
from rightcall import wire
from rightcall.core.request import EncodedRequest, Request
from rightcall.models.providers import PROVIDERS
from rightcall.wire.dialects import DIALECTS, SERVED, load

ROOT = Path(__file__).parents[2]
WIRE = Path(wire.__file__).parent
RECIPE = {"__init__", "encode", "messages", "decode", "reply", "tables", "history"}
BEYOND = {
    "openai_chat": {"hosts", "fragments"},
    "bedrock": {"eventstream", "sigv4"},
}
"""What a dialect needs besides."""
SERVER = {"client_request", "server"}
"""What one has that clients are served in."""
HOMES = {"encode": "encode", "encoder": "encode", "decode": "decode", "decoder": "decode"}
every_dialect = pytest.mark.parametrize("name", DIALECTS)


def test_every_folder_has_a_row_and_every_row_a_folder():
    assert {path.parent.name for path in WIRE.glob("*/__init__.py")} == set(DIALECTS)


@every_dialect
def test_a_folder_holds_the_recipe(name):
    assert {path.stem for path in (WIRE / name).glob("*.py")} == (
        RECIPE | BEYOND.get(name, set()) | (SERVER if name in SERVED else set())
    )


@every_dialect
def test_what_a_dialect_gives_stands_in_the_same_file_in_each(name):
    dialect = load(name)
    assert dialect.name == name
    homes = {what: getmodule(getattr(dialect, what)).__name__ for what in (*HOMES, "authorize")}
    prefix = f"rightcall.wire.{name}"
    assert homes == {what: f"{prefix}.{home}" for what, home in {**HOMES, "authorize": "encode"}.items()}
    assert type(dialect.decoder()).__module__ == f"{prefix}.decode"


def test_type_checkers_are_told_of_every_dialect():
    assert set(wire.__all__) == {"sse", "ThinkFilter", "from_messages", "to_messages", *DIALECTS}
    text = (WIRE / "__init__.py").read_text()
    assert re.findall(r"from rightcall.wire import (\w+) as \1\n", text) == sorted(DIALECTS)
    assert {name: getattr(rc.wire, name) for name in DIALECTS} == {n: load(n) for n in DIALECTS}
    assert rc.wire.sse.SseDecoder


def test_the_contract_keeps_exactly_the_dialects_apart():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = [
        each
        for each in settings["tool"]["importlinter"]["contracts"]
        if each["name"] == "dialects do not know each other"
    ]
    assert contract["modules"] == [f"rightcall.wire.{name}" for name in sorted(DIALECTS)]


def test_every_provider_speaks_a_dialect_of_the_table():
    assert {provider.dialect for provider in PROVIDERS.values()} == set(DIALECTS)


def test_only_a_dialect_that_differs_by_host_asks_for_the_address():
    for name, row in DIALECTS.items():
        assert hasattr(load(name), "dialect_at") is row.differs_by_host
        assert (load(name, "https://api.mistral.ai/v1") is load(name)) is not row.differs_by_host


@every_dialect
@pytest.mark.parametrize("url", ["", "https://api.mistral.ai/v1"])
def test_an_encoder_sends_what_encode_sends(name, url):
    dialect = load(name, url)
    request = Request(messages=(rc.core.message.user_text("Hi"),))
    sent = dialect.encode(request, model="m", stream=True)
    assert isinstance(sent, EncodedRequest)
    encode = dialect.encoder()
    assert encode(request, model="m", stream=True) == encode(request, model="m", stream=True) == sent

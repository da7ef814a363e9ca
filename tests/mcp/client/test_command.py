"""``rightcall tools mcp``: list, pin and verify, from the command line."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp.server.auth.provider import AuthorizationParams

from oauth_issuer import Issuer, guarded
from rightcall.cli.main import main
from rightcall.cli.work import mcp

HERE = Path(__file__).parent
MEET = "Returns once four calls of it are under way."


@pytest.fixture
def rightcall(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["mcp", *arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def config(tmp_path):
    entry = {"command": sys.executable, "args": [str(HERE / "many.py"), "2"]}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"many": entry}}))
    return str(file)


def test_tools_are_listed(rightcall, config):
    assert rightcall("list", "--config", config) == (
        0,
        "many/tool_0: Tool 0.\nmany/tool_1: Tool 1.\n",
        "",
    )


def test_tools_are_listed_as_json(rightcall, config):
    code, out, _ = rightcall("list", "--config", config, "--json")
    first = json.loads(out.splitlines()[0])
    assert (code, first["server"], first["name"], first["findings"]) == (0, "many", "tool_0", [])


def test_what_was_approved_is_verified_until_it_changes(rightcall, config, tmp_path):
    code, _, err = rightcall("verify", "--config", config)
    assert (code, err) == (
        1,
        "rightcall: many: mcp-pins.json holds no pins of 'many'; approve it: rightcall mcp pin\n",
    )
    assert rightcall("pin", "--config", config)[0] == 1  # nobody is there to say yes
    code, out, _ = rightcall("pin", "--config", config, "--yes")
    assert (code, out.splitlines()[-1]) == (0, "many: 2 tools approved in mcp-pins.json")
    assert rightcall("verify", "--config", config) == (0, "many: as it was approved\n", "")
    grown = [sys.executable, str(HERE / "many.py"), "3"]
    changed = rightcall("verify", "--name", "many", "--", *grown)
    assert changed == (1, "many: tool_2 is new\n", "")
    code, out, _ = rightcall("pin", "--name", "many", "--yes", "--", *grown)
    assert out.splitlines()[:3] == ["many: tool_2 is new", "tool_2:", '  | "Tool 2."']
    assert rightcall("verify", "--name", "many", "--", *grown)[0] == 0


def test_orders_to_the_model_are_shown_to_the_person(rightcall, shop):
    code, out, _ = rightcall("list", "--name", "shop", "--", *shop)
    assert code == 0
    assert "  read this: poison, description: imitates the marks of a conversation" in out


WRONG = {
    "nothing": (["doctor"], "which server?"),
    "no such entry": (["verify", "other", "--config", "CONFIG"], "has no server 'other'; there is many"),
    "a name that is near": (["doctor", "man", "--config", "CONFIG"], "did you mean many? there is many"),
    "a program without dashes": (
        ["doctor", "nope"],
        "no server 'nope'; there is none. A program is given",
    ),
    "a program with arguments": (["pin", "uvx", "some-server"], "behind --: rightcall mcp pin -- uvx"),
    "a name and a program": (["verify", "many", "--", "python"], "one program behind --, at a time"),
    "a program that is near": (["add", "a", "b", "--file", "claud"], "did you mean claude?"),
    "a file that is not meant": (["add", "a", "b", "--file", "notthere"], "or a path: ./notthere"),
    "a name with a slash": (["add", "a/b", "b"], "no slashes"),
    "a name that clears the screen": (["add", "a\x1b[2J", "b"], r"'a\x1b[2J'"),
    "a program's login": (["login", "many", "--config", "CONFIG"], "one logs in at addresses"),
    "a login of nobody": (["logout", "nobody"], "no server 'nobody'; there is none"),
    "a header of a program": (["add", "x", "program", "--header", "a: b"], "for addresses"),
    "a header without a value": (["add", "x", "http://a.example", "--header", "a"], "Name: value"),
    "a variable of an address": (["add", "x", "http://a.example", "--env", "a=b"], "no environment"),
    "an unknown server": (["remove", "x"], "has no server 'x'; there is none"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_said(case, rightcall, config):
    arguments, words = WRONG[case]
    code, _, err = rightcall(*[each.replace("CONFIG", config) for each in arguments])
    assert code == 2
    assert words in err


def test_a_misspelt_name_starts_no_program(rightcall, tmp_path, monkeypatch):
    started = tmp_path / "started"
    program = tmp_path / "nope"
    program.write_text(f"#!/bin/sh\ntouch {started}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"nape": {"command": "x"}}}')
    for action in ("doctor", "pin", "verify", "list"):
        code, _, err = rightcall(action, "nope")
        assert (code, "did you mean nape? there is nape" in err) == (2, True)
    assert not started.exists()
    code, _, err = rightcall("doctor", "--", "nope")
    assert (code, err.startswith("rightcall: nope: ")) == (1, True)
    assert started.exists()


def test_a_wrong_entry_is_a_row_and_the_others_are_examined(rightcall, tmp_path):
    many = {"command": sys.executable, "args": [str(HERE / "many.py"), "2"]}
    servers = {"bad": {"comand": "x"}, "gone": {"command": "no-such-program"}, "many": many}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    code, out, err = rightcall("doctor")
    assert code == 1
    assert "many: works" in out
    assert "the server bad: has neither a command nor a url; is 'comand' misspelt?" in err
    assert "rightcall: gone: there is no program 'no-such-program'" in err
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text("{")
    code, out, _ = rightcall("list")
    rows = out.splitlines()
    assert (code, rows[0].startswith("bad: cannot be used: ")) == (1, True)
    assert rows[3].startswith(".cursor/mcp.json: cannot be used: .cursor/mcp.json is not JSON")
    listed = [json.loads(line) for line in rightcall("list", "--json")[1].splitlines()]
    assert ["error" in each for each in listed[:4]] == [True, False, False, True]


def test_a_server_is_added_listed_examined_and_removed(rightcall, tmp_path):
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"kept": 1, "mcpServers": {}}))
    file.chmod(0o640)
    many = [sys.executable, str(HERE / "many.py"), "2"]
    assert rightcall("add", "many", "--env", "TOKEN=${TOKEN:-none}", "--", *many)[0] == 0
    content = json.loads(file.read_text())
    entry = {"command": many[0], "args": many[1:], "env": {"TOKEN": "${TOKEN:-none}"}}
    assert content == {"kept": 1, "mcpServers": {"many": entry}}
    assert file.stat().st_mode & 0o777 == 0o640
    assert rightcall("add", "many", "x")[0] == 2
    assert rightcall("list")[1].startswith("many: Stdio([")
    assert json.loads(rightcall("list", "--json")[1])["server"] == "many"
    code, out, _ = rightcall("doctor")
    assert code == 0
    assert "many: works, by the protocol of" in out
    assert "tools: 2, about" in out
    assert "not approved; rightcall mcp pin many" in out
    assert rightcall("pin", "many", "--yes")[0] == 0
    assert "pins: as it was approved" in rightcall("doctor", "many")[1]
    assert rightcall("add", "many", "--replace", "--", *many[:-1], "3")[0] == 0
    code, out, _ = rightcall("doctor", "many")
    assert (code, "pins: tool_2 is new" in out) == (1, True)
    assert rightcall("remove", "many")[0] == 0
    assert json.loads(file.read_text()) == {"kept": 1, "mcpServers": {}}


def test_addresses_go_into_the_files_of_other_programs(rightcall, tmp_path):
    url = "https://a.example/mcp"
    added = rightcall("add", "a", url, "--oauth", "--header", "x: ${KEY}", "--file", "vscode")
    assert added == (0, "a: added to .vscode/mcp.json\n", "")
    written = json.loads((tmp_path / ".vscode/mcp.json").read_text())
    entry = {"type": "http", "url": url, "headers": {"x": "${KEY}"}, "auth": "oauth"}
    assert written == {"servers": {"a": entry}}
    code, _, err = rightcall("add", "b", url, "--header", f"x: Bearer sk-ant-{'a1' * 30}", "--sse")
    assert (code, "looks like a secret" in err) == (0, True)
    (tmp_path / ".vscode/mcp.json").write_text('{"servers": {} /* mine */}')
    assert "edit it by hand" in rightcall("add", "a", url, "--file", "vscode")[2]


@pytest.fixture
def login_server() -> Iterator[tuple[Issuer, str]]:
    """A server behind OAuth, in a thread: commands have an event loop of their own."""
    issuer = Issuer()
    ready: list[str] = []
    is_up = threading.Event()
    loop = asyncio.new_event_loop()
    end = asyncio.Event()

    async def serve() -> None:
        async with guarded(issuer) as url:
            ready.append(url)
            is_up.set()
            await end.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert is_up.wait(30)
    yield issuer, ready[0]
    loop.call_soon_threadsafe(end.set)
    thread.join(30)
    loop.close()


def test_one_logs_in_and_out_again(rightcall, login_server, monkeypatch, tmp_path):
    issuer, url = login_server
    code, _, err = rightcall("list", url)
    assert code == 1
    assert f'Log in: auth="oauth" in Python, rightcall mcp login {url} in a shell' in err

    async def paste(shown: str) -> str:
        assert "code_challenge" in shown
        client = next(iter(issuer.clients.values()))
        return await issuer.authorize(client, _params(shown))

    monkeypatch.setattr(mcp, "_paste", paste)
    assert rightcall("login", url, "--paste") == (0, f"{url}: logged in\n", "")
    assert rightcall("list", url) == (
        0,
        f"_127_0_0_1/slow: Takes its time.\n_127_0_0_1/meet: {MEET}\n",
        "",
    )
    assert rightcall("logout", url) == (0, f"{url}: logged out\n", "")
    assert rightcall("logout", url)[0] == 1
    assert rightcall("list", url)[0] == 1


def _params(url: str) -> AuthorizationParams:
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    return AuthorizationParams(
        state=query["state"],
        scopes=query["scope"].split(),
        code_challenge=query["code_challenge"],
        redirect_uri=query["redirect_uri"],
        redirect_uri_provided_explicitly=True,
        resource=query.get("resource"),
    )

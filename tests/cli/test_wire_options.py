"""``--raw``, ``--show-prompt``, ``--strict``, and kept keys, against a vendor on this machine."""

import json
import shlex
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import warm
from cli.kit import Terminal, run, within
from rightcall.cli.user_config import key_for, keys_file
from rightcall.errors import UsageError
from rightcall.models.connect import connect

CALL = {
    "index": 0,
    "id": "c1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'},
}


def chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    said = {"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return f"data: {json.dumps(said)}\n\n".encode()


CALLS = chunk({"tool_calls": [CALL]}) + chunk({}, "tool_calls") + b"data: [DONE]\n\n"
ANSWER = chunk({"content": "It is sunny."}, "stop") + b"data: [DONE]\n\n"


class Vendor(ThreadingHTTPServer):
    """Speaks like OpenAI: one body after the other, and the last again and again."""

    def __init__(self, *bodies: bytes, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies = list(bodies)
        self.status = status
        self.heard: list[tuple[str, dict[str, object]]] = []
        self.model = f"http://127.0.0.1:{self.server_port}/v1|m-1"


class _Handler(BaseHTTPRequestHandler):
    server: Vendor

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.heard.append((self.headers.get("authorization", ""), body))
        answer = self.server.bodies[0]
        if len(self.server.bodies) > 1:
            self.server.bodies.pop(0)
        self.send_response(self.server.status)
        self.send_header(
            "content-type", "text/event-stream" if self.server.status == 200 else "application/json"
        )
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    with Vendor(CALLS, ANSWER) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


def test_the_vendors_bytes_are_kept_and_can_be_read(home, vendor):
    told = ["ask", "--quiet", "-m", vendor.model, "-T", "world.py"]
    ran = within(home, *told, "--raw", "raw.sse", "Weather?")
    assert (ran.code, ran.out) == (0, "It is sunny.\n")
    raw = (home / "raw.sse").read_bytes()
    assert raw == CALLS + b": rightcall: the next reply\n\n" + ANSWER
    read = within(home, "sse", "raw.sse")
    assert read.code == 0
    assert read.out.startswith("reply 1 of 2\n")
    assert "call: get_weather" in read.out
    assert "text: It is sunny." in read.out
    lines = [json.loads(line) for line in within(home, "sse", "--json", "raw.sse").out.splitlines()]
    assert [line["reply"]["text"] for line in lines if "reply" in line] == ["", "It is sunny."]
    assert raw[lines[-3]["offset"] :].startswith(b'data: {"model": "m-1", "choices"')


def test_calls_that_a_server_leaves_in_the_text_are_read(home, vendor):
    written = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'
    vendor.bodies = [chunk({"content": written}, "stop") + b"data: [DONE]\n\n", ANSWER]
    told = ["ask", "-m", vendor.model, "-T", "world.py", "--family", "hermes"]
    ran = within(home, *told, "Weather?")
    assert (ran.code, ran.out) == (0, "It is sunny.\n")
    assert "get_weather" in ran.err


def test_one_reply_is_kept_to_the_byte_also_where_it_breaks(home, vendor):
    vendor.bodies = [ANSWER[:40]]
    ran = within(home, "ask", "--quiet", "-m", vendor.model, "--raw", "raw.sse", "Weather?")
    assert ran.code == 1
    assert (home / "raw.sse").read_bytes().startswith(ANSWER[:40])
    assert within(home, "sse", "raw.sse", "--dialect", "openai_chat").code == 1


@pytest.mark.parametrize("model", ["world.py:echo", "embedded"])
def test_a_model_without_a_vendor_has_no_bytes_of_one(home, model):
    ran = within(home, "ask", "-m", model, "--raw", "raw.sse", "?")
    assert (ran.code, ran.err.startswith(f"rightcall: --raw: {model} is not asked over HTTP")) == (
        2,
        True,
    )


def test_what_is_sent_is_shown_without_the_key(home, vendor, monkeypatch):
    told = [
        "ask",
        "--quiet",
        "-m",
        vendor.model,
        "--show-prompt",
        "-s",
        "Be brief.",
        "--no-default-tools",
    ]
    vendor.bodies = [ANSWER]
    ran = within(home, *told, "Weather " + "x" * 3000)
    assert (ran.code, ran.out) == (0, "It is sunny.\n")
    first, _, last = ran.err.partition("\n")
    shown = json.loads(last.removesuffix("---\n"))
    assert first == "--- prompt"
    assert shown["messages"][0] == {"role": "system", "content": "Be brief."}
    assert shown["messages"][1]["content"].endswith("… (3,008 characters)")


def test_a_model_of_ones_own_is_shown_what_it_is_asked(home):
    ran = within(home, "ask", "--quiet", "-m", "world.py:echo", "--show-prompt", "Hello")
    assert json.loads(ran.err.removeprefix("--- prompt\n").removesuffix("---\n"))["messages"] == [
        {"type": "user", "content": [{"type": "text", "text": "Hello"}]}
    ]


def test_strict_is_the_vendors(home, vendor):
    within(home, "ask", "--quiet", "-m", vendor.model, "-T", "world.py:get_weather", "--strict", "?")
    tools = {each["function"]["name"]: each["function"] for each in vendor.heard[0][1]["tools"]}
    assert tools["get_weather"]["strict"] is True


def test_a_kept_key_is_used_behind_the_environment_and_never_shown(home, vendor, monkeypatch):
    address = vendor.model.partition("|")[0]
    kept = run(home, "keys", "set", address, stdin=b"sk-secret-1\n")
    assert (kept.code, kept.out) == (0, "")
    assert "sk-secret" not in kept.err
    vendor.bodies = [ANSWER]
    assert within(home, "ask", "--quiet", "-m", vendor.model, "Hi").code == 0
    assert vendor.heard[-1][0] == "Bearer sk-secret-1"
    assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
    listed = within(home, "keys", "list")
    assert (listed.code, listed.out, listed.err) == (0, f"{address}\n", "")
    assert within(home, "keys", "path").out == f"{home}/.config/rightcall/keys.json\n"

    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert within(home, "keys", "set", "openai", stdin=b"sk-2").code == 0
    assert key_for("openai:m") == key_for("openai-responses:m") == "sk-2"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    assert key_for("openai:m") is None
    ran = within(home, "ask", "-m", "anthropic:claude", "Hi")
    assert ran.err == (
        "rightcall: anthropic: no key; say: rightcall keys set anthropic, or set ANTHROPIC_API_KEY\n"
    )
    assert within(home, "keys", "remove", "openai").code == 0
    assert within(home, "keys", "list").out == f"{address}\n"


def test_a_key_is_typed_unseen(home):
    with Terminal(home, "keys", "set", "anthropic") as terminal:
        terminal.wait_for("Key for anthropic: ")
        terminal.send("sk-typed\n")
        assert terminal.end() == 0
        assert "sk-typed" not in terminal.raw
    assert json.loads((home / ".config/rightcall/keys.json").read_text()) == {"anthropic": "sk-typed"}


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["set", "anthropc"], b"x", "did you mean 'anthropic'?"),
        (["set", "ollama"], b"x", "no provider 'ollama' takes a key"),
        (["set", "anthropic"], b"", "that is no key"),
        (["set", "anthropic"], b"two\nlines\n", "that is no key"),
        (["remove", "anthropic"], b"", "there is no key for 'anthropic'"),
    ],
)
def test_what_cannot_be_kept_is_bad_usage(home, arguments, stdin, words):
    ran = within(home, "keys", *arguments, stdin=stdin)
    assert ran.code == 2
    assert words in ran.err
    assert not keys_file().exists()


def test_a_file_of_keys_that_others_can_read_is_not_used(home, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    within(home, "keys", "set", "anthropic", stdin=b"sk")
    keys_file().chmod(0o644)
    ran = within(home, "ask", "-m", "anthropic:claude", "Hi")
    assert ran.code == 2
    assert "others may read" in ran.err


def test_the_library_reads_no_kept_key(home, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    within(home, "keys", "set", "anthropic", stdin=b"sk")
    with pytest.raises(UsageError, match="anthropic: no key; set ANTHROPIC_API_KEY"):
        connect("anthropic:claude")


def test_the_default_model_is_chosen_once_or_for_a_shell(home, monkeypatch):
    assert within(home, "models", "default").out == "embedded\n"
    assert within(home, "models", "default", "world.py:echo").out == "world.py:echo\n"
    assert within(home, "ask", "--quiet", "Hello").out.startswith("1: Hello; ")
    monkeypatch.setenv("RIGHTCALL_MODEL", "world.py:refuses")
    assert within(home, "ask", "--quiet", "Hello").out == "I cannot do that.\n"
    assert within(home, "ask", "--quiet", "-m", "world.py:echo", "Hello").code == 0
    ran = within(home, "models", "default", "anthropic:claude-opus-4-8")
    assert (ran.out, ran.err) == (
        "world.py:refuses\n",
        "rightcall: in this shell RIGHTCALL_MODEL names another\n",
    )


@pytest.mark.parametrize("name", ["anthropic", "anthropc:x", "nosuch", "http://localhost/v1"])
def test_what_names_no_model_is_no_default(home, name):
    assert within(home, "models", "default", name).code == 2


def test_call_asks_for_what_wants_a_yes(home):
    told = ["call", "world.py", "send_mail", '{"to": "bob", "body": "Hi"}']
    assert within(home, *told).code == 1
    assert within(home, *told, "--yes").out == "sent to bob\n"
    assert within(home, *told[:3], "--yes", told[3]).out == "sent to bob\n"
    with Terminal(home, *told) as terminal:
        terminal.wait_for("Run it? [y/N/why not] ")
        terminal.send("y\n")
        terminal.wait_for("sent to bob")
        assert terminal.end() == 0


SHOP = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")


@server.tool()
def price(item: str) -> str:
    """What an item costs."""
    return f"{item}: 3 EUR"


server.run("stdio")
'''
BUYING = """
from rightcall.testing import ScriptedModel, call, reply

model = ScriptedModel([reply(call("shop_price", item="tea")), "3 EUR."])
plain = ScriptedModel([reply(call("python_price", item="tea")), "3 EUR."])
"""


def test_servers_of_a_file_are_there_and_one_that_fails_takes_nobody_with_it(home):
    (home / "shop_server.py").write_text(SHOP)
    (home / "buying.py").write_text(BUYING)
    python, *loaded = warm.python(*warm.MCP)
    servers = {
        # Relative: a server starts where the user stands.
        "shop": {"command": python, "args": [*loaded, "shop_server.py"]},
        "gone": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
    }
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    ran = run(home, "ask", "-m", "buying.py:model", "--mcp", "mcp.json", "What is tea?")
    assert (ran.code, ran.out) == (0, "3 EUR.\n")
    assert "rightcall: the server gone is left out: " in ran.err
    assert "returned: shop_price in " in ran.err
    program = shlex.join([python, *loaded, "shop_server.py"])
    with Terminal(home, "chat", "-m", "buying.py:model", "--mcp", program) as terminal:
        terminal.wait_for("3 tools; /help")
        terminal.wait_for("> ")
        terminal.send("/tools\n")
        terminal.wait_for("_price: ")
        terminal.wait_for("> ")
        terminal.send("\x04")
        assert terminal.end() == 0

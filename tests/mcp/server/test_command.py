"""``rightcall serve-mcp``: what it takes, and what it says of what it does not."""

import json
from argparse import ArgumentError, ArgumentParser

import pytest

from rightcall.cli.commands.serve import serve_mcp as add_arguments
from rightcall.cli.work import serve_mcp
from rightcall.errors import RightcallError, UsageError

TOKEN = "a-token-that-is-long-enough"


def options(*arguments):
    parser = ArgumentParser(exit_on_error=False)
    add_arguments(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "which tools?"),
        (["nowhere.py"], "there is no file nowhere.py"),
        (["--manifest", "nowhere.json"], "nowhere.json"),
        (["SHOP", "--token-file", "t"], "are for --http"),
        (["SHOP", "--allow-host", "a"], "are for --http"),
        (["SHOP", "--http", "0.0.0.0:0"], "can be reached from other machines"),
        (["SHOP", "--http", "0", "--token-file", "nowhere"], "--token-file nowhere: No such file"),
        (
            ["SHOP", "--http", "0", "--token-file", "SHOP"],
            "without spaces",
        ),
        (["SHOP", "--http", "0", "--token-file", "/dev/null"], "--token-file /dev/null: holds nothing"),
        (["SHOP", "--http", "0", "--oauth-issuer", "https://a.org"], "needs --oauth-resource"),
        (["SHOP", "--http", "0", "--oauth-scope", "read"], "need --oauth-issuer"),
        (["SHOP", "--journal", "calls.txt"], "--journal calls.txt: the name must end in"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_served(arguments, words, shop):
    given = options(*[shop if each == "SHOP" else each for each in arguments])
    with pytest.raises(RightcallError, match=words):
        serve_mcp.run(given)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("8000", ("127.0.0.1", 8000)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:80", ("::1", 80)),
        (":9", ("127.0.0.1", 9)),
    ],
)
def test_a_place_is_a_port_or_a_host_and_a_port(text, place):
    assert options("--http", text).http == place


@pytest.mark.parametrize("text", ["", "localhost", "65536", "-1", "localhost:x"])
def test_what_is_no_place_is_refused(text):
    with pytest.raises(ArgumentError, match="is not a port, or a host and a port"):
        options(f"--http={text}")


def test_the_token_is_read_from_a_file(tmp_path, shop):
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    listen = serve_mcp._listen(options(shop, "--http", "1", "--token-file", str(tmp_path / "token")))
    assert (listen.token, listen.host, listen.port) == (TOKEN, "127.0.0.1", 1)


def test_an_authorization_server_takes_the_place_of_a_token(shop):
    listen = serve_mcp._listen(
        options(
            shop,
            "--http=0.0.0.0:1",
            "--allow-host=t.example.org",
            "--oauth-issuer=https://a.example.org",
            "--oauth-resource=https://t.example.org/mcp",
            "--oauth-scope=read",
        )
    )
    assert listen.token is None
    assert (listen.oauth.issuer, listen.oauth.scopes) == ("https://a.example.org", ("read",))
    assert listen.hosts == ("t.example.org",)


def test_a_token_and_an_authorization_server_are_one_too_many(shop):
    with pytest.raises(UsageError, match="not both"):
        serve_mcp._check(
            options(
                shop,
                "--http=0",
                "--token-file=t",
                "--oauth-issuer=https://a.example.org",
                "--oauth-resource=https://t.example.org/mcp",
            )
        )


async def test_files_manifests_yes_and_a_journal_go_together(start, shop, tmp_path):
    tool = {
        "name": "say",
        "description": "Say hello.",
        "command": "/bin/echo",
        "argv": ["hello"],
        "approval": True,
    }
    manifest, journal = tmp_path / "ops.json", tmp_path / "calls.jsonl"
    manifest.write_text(json.dumps({"version": 1, "tools": [tool]}))
    manifest.chmod(0o600)
    arguments = [f"{shop}:add", "--manifest", str(manifest), "--journal", str(journal), "--yes"]
    async with start(*arguments) as child:
        await child.greet()
        await child.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        listed = await child.receive()
        await child.call(2, "say")
        said = await child.receive()
        child.process.stdin.close()
        assert await child.ended() == 0
    assert [each["name"] for each in listed["result"]["tools"]] == ["add", "say"]
    assert "hello" in said["result"]["content"][0]["text"]
    kinds = [json.loads(line)["entry"]["type"] for line in journal.read_text().splitlines()]
    assert kinds == [
        "run_started",
        "reply_received",
        "call_checked",
        "step_done",
        "call_decided",
        "call_started",
        "call_finished",
        "run_ended",
    ]

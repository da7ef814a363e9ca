"""``rightcall serve`` from a shell: keys, a server that takes up changes and ends in order, spend."""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from cli.kit import command
from rightcall.cli.main import main

MODELS = """
from rightcall.testing import ScriptedModel

one = ScriptedModel(lambda _: "From one.")
two = ScriptedModel(lambda _: "From two.")
"""


def ask(base, model, key=None):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hi"}]}).encode()
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(f"{base}/v1/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def until(found, seconds=8.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (value := found()) is not None:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def test_keys_are_added_listed_and_revoked(tmp_path, capsys):
    file = str(tmp_path / "keys.json")
    assert (
        main(["serve", "keys", "add", "alice", "--keys", file, "--models", "a,b-*", "--per-minute", "6"])
        == 0
    )
    told = capsys.readouterr()
    key = told.out.strip()
    assert re.fullmatch(r"rc-[0-9a-f]{8}-[\w-]{43}", key)
    assert oct((tmp_path / "keys.json").stat().st_mode)[-3:] == "600"
    assert main(["serve", "keys", "list", "--keys", file, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["allowed"]) == ("alice", {"models": ["a", "b-*"], "per_minute": 6.0})
    assert "hash" not in listed
    assert main(["serve", "keys", "add", "alice", "--keys", file]) == 2
    assert main(["serve", "keys", "revoke", "alice", "--keys", file]) == 0
    assert main(["serve", "keys", "revoke", "alice", "--keys", file]) == 2
    assert main(["serve", "keys", "list", "--keys", file]) == 0
    assert "revoked" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "which models?"),
        (["--model", "x"], "NAME=SPEC"),
        (["--model", "x=embedded", "--listen", "0.0.0.0:9"], "keys add"),
        (["--model", "x=openia:gpt"], "did you mean 'openai'"),
        (["--config", "nowhere.toml"], "cannot be read"),
        (["--model", "x=embedded", "--tools", "nowhere.py:box"], "there is no file nowhere.py"),
        (
            ["--model", "x=embedded", "--keys", "gone.json"],
            "there are no keys in gone.json; make one with",
        ),
        (["spend"], "where is it kept?"),
    ],
)
def test_what_cannot_be_served_is_said_at_once(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["serve", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_port_that_is_taken_is_said(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "models.py").write_text(MODELS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        model = f"x={tmp_path / 'models.py'}:one"
        assert main(["serve", "--model", model, "--listen", str(port)]) == 2
    assert f"nothing can listen on 127.0.0.1:{port}" in capsys.readouterr().err


def test_a_server_takes_up_changes_and_ends_when_told_to(tmp_path):
    (tmp_path / "models.py").write_text(MODELS)
    config = tmp_path / "gateway.toml"
    kept = 'spend = "spend.sqlite"\njournal = "j.jsonl"\n'
    written = f'listen = "127.0.0.1:0"\n{kept}[models]\n'
    config.write_text(written + 'a = "models.py:one"\n')
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    server = subprocess.Popen(
        command("serve", "--config", str(config)),
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        base = re.search(r"http://\S+", server.stderr.readline())[0]
        assert ask(base, "a") == "From one."
        assert ask(base, "b") == 404
        config.write_text(written + 'a = "models.py:one"\nb = "models.py:two"\n')
        server.send_signal(signal.SIGHUP)
        until(lambda: True if ask(base, "b") == "From two." else None)
        added = subprocess.run(
            command("serve", "keys", "add", "bob", "--config", str(config)),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        until(lambda: True if ask(base, "a") == 401 else None)
        assert ask(base, "a", added.stdout.strip()) == "From one."
        server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
    told = subprocess.run(
        command("serve", "spend", "--config", str(config), "--json"),
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert {(row["key"], row["model"]) for row in rows} == {("local", "a"), ("local", "b"), ("bob", "a")}
    assert '"run_started"' in (tmp_path / "j.jsonl").read_text()

"""The files that other programs keep of their servers."""

import json
from pathlib import Path

import pytest

from rightcall.errors import UsageError
from rightcall.mcp import Http, Stdio, load_config


def written(folder: Path, content: object) -> Path:
    file = folder / "mcp.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


CLAUDE = {
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "server-filesystem", "/data"], "env": {"LEVEL": "1"}},
        "off": {"command": "npx", "disabled": True},
    }
}
VS_CODE = """{
    // what VS Code keeps in .vscode/mcp.json
    "inputs": [{"id": "key", "type": "promptString", "password": true}],
    "servers": {
        "search": {
            "type": "http",
            "url": "https://search.example/mcp", /* not // a comment */
            "headers": {"Authorization": "Bearer ${input:key}",},
        },
        "here": {"type": "stdio", "command": "${workspaceFolder}/run", "cwd": "${workspaceFolder}"},
    },
}"""
CURSOR = {
    "mcpServers": {
        "remote": {"url": "https://cursor.example/mcp", "headers": {"X-Key": "${env:CURSOR_KEY}"}},
        "local": {
            "command": "python",
            "args": ["${userHome}/server.py"],
            "envFile": "${workspaceFolder}/.env",
        },
    }
}


def test_claude_desktops_form(tmp_path):
    assert load_config(written(tmp_path, CLAUDE)) == {
        "files": Stdio(
            command="npx", arguments=("-y", "server-filesystem", "/data"), environment={"LEVEL": "1"}
        )
    }


def test_vs_codes_form_with_comments_and_inputs(tmp_path):
    expected = {
        "search": Http(url="https://search.example/mcp", headers={"Authorization": "Bearer k1"}),
        "here": Stdio(command=f"{tmp_path}/run", directory=str(tmp_path)),
    }
    file = written(tmp_path, VS_CODE)
    assert load_config(file, inputs={"key": "k1"}, workspace=tmp_path) == expected
    settings = written(tmp_path, f'{{"editor.fontSize": 12, "mcp": {VS_CODE}}}')
    assert load_config(settings, inputs={"key": "k1"}, workspace=tmp_path) == expected


def test_cursors_form_with_variables_and_a_file_of_them(tmp_path, monkeypatch):
    monkeypatch.setenv("CURSOR_KEY", "k2")
    (tmp_path / ".env").write_text("# keys\nexport TOKEN='t 1'\n\nMODE=fast\n")
    assert load_config(written(tmp_path, CURSOR), workspace=tmp_path) == {
        "remote": Http(url="https://cursor.example/mcp", headers={"X-Key": "k2"}),
        "local": Stdio(
            command="python",
            arguments=(f"{Path.home()}/server.py",),
            environment={"TOKEN": "t 1", "MODE": "fast"},
            directory=str(tmp_path),
        ),
    }


def test_the_older_transport_is_taken_as_what_it_is(tmp_path):
    entry = {"type": "sse", "url": "https://x.example/sse", "headers": {"X-Key": "k"}}
    assert load_config(written(tmp_path, {"mcpServers": {"old": entry}})) == {
        "old": Http(url="https://x.example/sse", transport="sse", headers={"X-Key": "k"})
    }


def one(**entry: object) -> dict[str, object]:
    return {"mcpServers": {"shop": entry}}


WRONG = {
    "no JSON": ("{", "is not JSON"),
    "no table": ({"tools": []}, "lists no servers"),
    "neither": (one(), "the server shop: has neither a command nor a url"),
    "no object": ({"mcpServers": {"shop": "npx"}}, "must be an object, not a string"),
    "arguments as text": (one(command="npx", args="-y x"), "shop.args: must be an array, not a string"),
    "a flag in the environment": (one(command="npx", env={"A": True}), "shop.env.A: must be a string"),
    "an unknown variable": (one(command="${env:NOT_SET_ANYWHERE}"), "stands for nothing here"),
    "an input": (one(command="x", args=["${input:key}"]), "needs the input 'key'"),
    "a bad name": (one(command="x", env={"A B": "1"}), "is not the name of a variable"),
    "another scheme": (one(url="file:///etc/passwd"), "begins with https"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_place(case, tmp_path):
    content, words = WRONG[case]
    with pytest.raises(UsageError, match=words):
        load_config(written(tmp_path, content))


def test_a_file_that_anyone_may_write_decides_nothing(tmp_path):
    file = written(tmp_path, CLAUDE)
    file.chmod(0o666)
    with pytest.raises(UsageError, match="anyone may write"):
        load_config(file)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load_config(tmp_path / "none.json")

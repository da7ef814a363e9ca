"""``rightcall models``: names for local models."""

import json
import struct
from pathlib import Path

import pytest

from rightcall.cli.main import main
from rightcall.cli.options import DEFAULT_MODEL
from rightcall.models.catalogue import EMBEDDED

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.content }}<tool_call>{% endfor %}"


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(path: Path) -> Path:
    """A GGUF file with a chat template and no tensors."""
    pairs = {
        "general.name": "Tiny",
        "general.architecture": "llama",
        "tokenizer.chat_template": TEMPLATE,
    }
    strings = b"".join(text(key) + struct.pack("<I", 8) + text(value) for key, value in pairs.items())
    window = text("llama.context_length") + struct.pack("<II", 4, 2048)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs) + 1) + strings + window)
    return path


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    capsys.readouterr()
    assert main(["models", "list", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row.pop("name"): row for row in rows}


def test_the_default_model_is_the_one_whose_name_is_reserved():
    assert DEFAULT_MODEL == EMBEDDED


def test_a_model_is_added_listed_and_removed(home, capsys):
    path = gguf(home / "tiny.gguf")
    assert main(["models", "add", "tiny", "tiny.gguf"]) == 0
    assert capsys.readouterr().out == f"tiny is {path}\n"
    rows = listed(capsys)
    assert list(rows) == ["embedded", "tiny"]
    assert rows["tiny"] == {
        "path": str(path),
        "bytes": path.stat().st_size,
        "family": "hermes",
        "context_window": 2048,
        "problem": "",
    }
    assert main(["models", "remove", "tiny"]) == 0
    assert capsys.readouterr().out == f"tiny is forgotten; {path} stays\n"
    assert list(listed(capsys)) == ["embedded"]


def test_they_are_listed_unless_told_otherwise(home, capsys):
    assert main(["models", "list"]) == 0
    listed = capsys.readouterr().out
    assert main(["models"]) == 0
    assert capsys.readouterr().out == listed


def test_the_table_lines_up(home, capsys):
    gguf(home / "tiny.gguf")
    main(["models", "add", "tiny", "tiny.gguf"])
    capsys.readouterr()
    assert main(["models", "list"]) == 0
    head, _, tiny = capsys.readouterr().out.splitlines()
    assert head.index("family") == tiny.index("hermes")
    assert head.index("file") == tiny.index(str(home))


def test_files_that_are_gone_or_broken_are_listed_and_said_to_be_so(home, capsys):
    (home / "broken.gguf").write_bytes(b"GGUF\x03")
    gguf(home / "gone.gguf")
    main(["models", "add", "broken", "broken.gguf"])
    main(["models", "add", "gone", "gone.gguf"])
    (home / "gone.gguf").unlink()
    rows = listed(capsys)
    assert rows["gone"]["problem"] == "the file is gone"
    assert rows["gone"]["bytes"] is None
    assert "is not a GGUF file that can be read" in str(rows["broken"]["problem"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "a b", "x.gguf"], "'a b' cannot be a model's name"),
        (["add", "x", "absent.gguf"], "absent.gguf cannot be read: No such file or directory"),
        (["remove", "x"], "no model is called 'x'; there is none"),
    ],
)
def test_what_cannot_be_done_is_bad_usage(home, arguments, words, capsys):
    assert main(["models", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rightcall: ")
    assert words in err

"""A home of its own for every test, with a file of tools and models in it."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.kit import WORLD


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a world.py, and the current directory."""
    (tmp_path / "world.py").write_text(WORLD)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "RIGHTCALL_MODEL", "RIGHTCALL_NO_LOG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _loaded_for_this_test_only(tmp_path: Path) -> Iterator[None]:
    yield
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]

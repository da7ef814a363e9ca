"""A misspelt name is found by both type checkers, and ``dir`` shows every name there is."""

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rightcall

SOURCE = Path(rightcall.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
LAZY = sorted(
    ".".join(path.relative_to(SOURCE.parent).parent.parts)
    for path in SOURCE.rglob("__init__.py")
    if re.search(r"^lazily\(", path.read_text(), re.MULTILINE)
)


def misspelt(name: str) -> str:
    return name[:-2] + name[-1] if len(name) > 2 else name * 2


def written(package: str, names: list[str]) -> str:
    return "\n".join([f"import {package}", *(f"repr({package}.{name})" for name in names), ""])


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """For each package a file that names all it has, and one that misspells the first of them."""
    folder = tmp_path_factory.mktemp("checked")
    for package in LAZY:
        names = import_module(package).__all__
        stem = package.replace(".", "_")
        (folder / f"{stem}_right.py").write_text(written(package, names))
        (folder / f"{stem}_wrong.py").write_text(written(package, [misspelt(names[0])]))
    return folder


def expected() -> set[tuple[str, int]]:
    """The one line of every file with a misspelt name."""
    return {(f"{package.replace('.', '_')}_wrong.py", 2) for package in LAZY}


def test_mypy_finds_every_misspelt_name_and_nothing_else(files):
    # What a package takes from its modules is looked at by ``make check``; here its names count.
    alone = ["--follow-imports=skip", "--no-warn-unused-ignores", "--cache-dir=.mypy_cache/names"]
    command = [sys.executable, "-m", "mypy", *alone, files, *SOURCE.rglob("__init__.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    found = re.findall(r"(\w+\.py):(\d+): error: Module has no attribute", ran.stdout)
    assert {(name, int(line)) for name, line in found} == expected(), ran.stdout
    assert ran.stdout.count("error: ") == len(LAZY), ran.stdout


def test_pyright_finds_every_misspelt_name_and_nothing_else(files):
    # The copy that the package brings, on the Node.js that another brings: nothing is downloaded.
    offline = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, files]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=offline)
    found = json.loads(ran.stdout)["generalDiagnostics"]
    places = {(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in found}
    assert places == expected(), found
    assert {each["rule"] for each in found} == {"reportAttributeAccessIssue"}
    assert len(found) == len(LAZY)


@pytest.mark.parametrize("package", LAZY)
def test_dir_shows_every_public_name(package):
    module = import_module(package)
    assert {name for name in dir(module) if not name.startswith("_")} == set(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)


def test_the_lazy_packages_are_found():
    assert {"rightcall", "rightcall.builtin", "rightcall.mcp", "rightcall.mcp.server"} <= set(LAZY)

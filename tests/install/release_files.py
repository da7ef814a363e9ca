"""A wheel and an sdist, judged as files: their metadata, what is in them, and how large they are."""

import fnmatch
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MOST_WHEEL, MOST_SDIST = 2_500_000, 4_000_000
"""Bytes. The code alone; and the code with its tests, pages and examples."""
PYTHONS = ("3.11", "3.12", "3.13")
NEVER = (
    "*.pyc",
    "*.gguf",
    "*.safetensors",
    "*.sqlite",
    "*.db",
    "*/.venv*",
    "*/.node/*",
    "*/build/*",
    "*/.git/*",
)


def metadata_of(wheel: Path) -> Message:
    """What an installer reads."""
    with zipfile.ZipFile(wheel) as files:
        (name,) = (each for each in files.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(files.read(name).decode())


def wrong_metadata(wheel: Path) -> Iterator[str]:
    """What the metadata gets wrong."""
    found = metadata_of(wheel)
    line = next(
        line
        for line in (ROOT / "src/rightcall/__init__.py").read_text().splitlines()
        if "__version__ =" in line
    )
    wanted = {
        "Name": "rightcall",
        "Version": line.split('"')[1],
        "License-Expression": "Apache-2.0",
        "Requires-Python": ">=3.11",
        "Description-Content-Type": "text/markdown",
        "Summary": PROJECT["description"],
    }
    for key, value in wanted.items():
        if found[key] != value:
            yield f"{key} is {found[key]!r}, not {value!r}"
    classifiers = found.get_all("Classifier") or []
    named = [
        each.rpartition(" ")[2]
        for each in classifiers
        if each.startswith("Programming Language :: Python :: 3.")
    ]
    if tuple(named) != PYTHONS:
        yield f"the classifiers name Python {named}, not {PYTHONS}"
    if odd := set(found.get_all("Provides-Extra") or []) ^ set(PROJECT["optional-dependencies"]):
        yield f"these extras are not in both of metadata and pyproject.toml: {odd}"


def wrong_files(wheel: Path, sdist: Path) -> Iterator[str]:
    """Files that must not be there, or must, and files that are too large."""
    for path, most in ((wheel, MOST_WHEEL), (sdist, MOST_SDIST)):
        if path.stat().st_size > most:
            yield f"{path.name} has {path.stat().st_size:,} bytes; {most:,} are allowed"
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    info = f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info/"
    yield from (f"{each} is in the wheel" for each in names if not each.startswith(("rightcall/", info)))
    yield from (
        f"the wheel lacks {each}"
        for each in ("rightcall/py.typed", f"{info}licenses/LICENSE")
        if each not in names
    )
    with tarfile.open(sdist) as archive:
        inside = [each.name.partition("/")[2] for each in archive.getmembers() if each.isfile()]
    yield from (
        f"{each} is in the sdist"
        for each in inside
        if any(fnmatch.fnmatch(f"/{each}", no) for no in NEVER)
    )
    if (ROOT / ".git").exists():
        # What somebody fetched, made or measured here is not in the repository.
        kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        tracked = {*kept.stdout.splitlines(), "PKG-INFO"}
        yield from (
            f"{each} is in the sdist and not in the repository" for each in inside if each not in tracked
        )

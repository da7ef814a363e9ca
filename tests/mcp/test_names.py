"""The public names of ``rightcall.mcp``: all there, loaded on first use, clear about what they need."""

import subprocess
import sys

import pytest

from architecture.test_spelling import assert_misspelt_names_are_told
from rightcall import mcp


@pytest.mark.parametrize("name", sorted(set(mcp.__all__) - {"serve"}))
def test_every_public_name_is_there_and_says_what_it_is(name):
    assert getattr(mcp, name).__doc__


def test_there_is_nothing_else():
    with pytest.raises(AttributeError, match="has no attribute 'disconnect'"):
        _ = mcp.disconnect


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_the_sdk_is_not_loaded_before_it_is_needed():
    code = (
        "import sys, rightcall.mcp as mcp\n"
        "mcp.load_config, mcp.Pins, mcp.Stdio, mcp.Http\n"
        "print(sorted({'mcp', 'mcp_types', 'anyio', 'httpx2'} & sys.modules.keys()))\n"
    )
    assert run(code) == "[]\n"


def test_without_the_sdk_it_is_said_how_to_get_it():
    code = (
        "import sys\n"
        "sys.modules['mcp'] = None\n"
        "import rightcall.mcp\n"
        "try:\n"
        "    rightcall.mcp.connect\n"
        "except rightcall.errors.UsageError as error:\n"
        "    print(error)\n"
    )
    assert run(code) == "MCP needs its SDK, version 2: pip install 'rightcall[mcp]'\n"


async def test_a_misspelt_keyword_is_told_the_nearest():
    await assert_misspelt_names_are_told(mcp, at_least=8)

"""The public names of the built-in tools."""

import subprocess
import sys

import pytest

from rightcall import builtin

PRINTS = """
import sys, rightcall.builtin
print(type(rightcall.builtin.{name}).__name__, "aiohttp" in sys.modules)
"""


def printed(code: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stdout.strip()


@pytest.mark.parametrize("name", builtin.__all__)
def test_a_name_is_the_tools_even_when_its_module_was_imported_first(name):
    first = f"import rightcall.builtin.{builtin._HOMES[name]}"
    assert printed(f"{first}\n{PRINTS.format(name=name)}") == "function False"


@pytest.mark.parametrize("name", builtin.__all__)
def test_every_name_makes_tools_and_says_how(name):
    found = getattr(builtin, name)
    assert callable(found)
    assert (found.__doc__ or "").strip()


def test_a_module_can_still_be_imported_by_its_name():
    code = "from rightcall.builtin.human import human; print(human.__name__)"
    assert printed(code) == "human"


def test_the_names_are_in_order_and_each_has_a_home():
    assert builtin.__all__ == sorted(builtin._HOMES)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'rightcall\.builtin' has no attribute 'bash'"):
        _ = builtin.bash


def test_the_package_itself_loads_nothing():
    code = "import rightcall.builtin, sys; print('msgspec' in sys.modules, 'asyncio' in sys.modules)"
    assert printed(code) == "False False"

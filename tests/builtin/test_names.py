"""The public names of the built-in tools."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from architecture.test_spelling import assert_misspelt_names_are_told
from rightcall import builtin

PRINTS = """
import sys, types, rightcall.builtin
found = rightcall.builtin.{name}
print(callable(found), isinstance(found, types.ModuleType), "httptools" in sys.modules)
"""


def printed(code: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stdout.strip()


@pytest.mark.parametrize("name", builtin._HOMES)
def test_a_name_is_the_tools_even_when_its_module_was_imported_first(name):
    first = f"import rightcall.{builtin._HOMES[name]}"
    assert printed(f"{first}\n{PRINTS.format(name=name)}") == "True False False"


def test_no_module_has_the_name_of_a_tool():
    modules = {each.stem for each in Path(builtin.__file__).parent.iterdir()}
    assert modules & set(builtin.__all__) == set()


def test_the_table_and_what_type_checkers_see_are_the_same():
    tree = ast.parse(Path(builtin.__file__).read_text())
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        each.asname: node.module.removeprefix("rightcall.")
        for node in guarded.body
        for each in node.names
        if each.asname is not None
    }
    assert seen == builtin._HOMES


@pytest.mark.parametrize("name", builtin.__all__)
def test_every_name_makes_tools_and_says_how(name):
    found = getattr(builtin, name)
    assert callable(found)
    assert (found.__doc__ or "").strip()


def test_a_module_can_still_be_imported_by_its_name():
    code = "from rightcall.builtin.human_tool import human; print(human.__name__)"
    assert printed(code) == "human"


def test_the_names_are_in_order_and_each_has_a_home():
    assert sorted(builtin._HOMES) == list(builtin._HOMES)
    assert set(builtin.__all__) == {*builtin._HOMES, "default_tools"}


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'rightcall\.builtin' has no attribute 'bash'"):
        _ = builtin.bash


def test_the_package_itself_loads_nothing():
    code = "import rightcall.builtin, sys; print('msgspec' in sys.modules, 'asyncio' in sys.modules)"
    assert printed(code) == "False False"


async def test_a_misspelt_keyword_is_told_the_nearest():
    await assert_misspelt_names_are_told(builtin, at_least=12)

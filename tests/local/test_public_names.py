"""The names that the packages of this room give out."""

import inspect

import pytest

from rightcall import local
from rightcall.local import grammar, template


@pytest.mark.parametrize("package", [local, grammar, template], ids=lambda each: each.__name__)
def test_every_public_name_is_what_it_names_and_not_the_module_it_lives_in(package):
    assert [name for name in package.__all__ if inspect.ismodule(getattr(package, name))] == []

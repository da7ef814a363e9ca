"""The names that the packages of this room give out."""

import inspect

import pytest

from architecture.test_spelling import assert_misspelt_names_are_told
from rightcall import local
from rightcall.errors import UsageError
from rightcall.local import grammar, template
from rightcall.trust import Guard


@pytest.mark.parametrize("package", [local, grammar, template], ids=lambda each: each.__name__)
def test_every_public_name_is_what_it_names_and_not_the_module_it_lives_in(package):
    assert [name for name in package.__all__ if inspect.ismodule(getattr(package, name))] == []


async def test_a_misspelt_keyword_is_told_the_nearest():
    await assert_misspelt_names_are_told(local, at_least=10)


def test_methods_that_are_called_by_hand_tell_it_too() -> None:
    engines = (local.LlamaCpp, local.LlamaServer, local.Vllm, local.HuggingFace)
    for engine in engines:
        with pytest.raises(UsageError, match=r"complete takes no .*did you mean 'grammar'"):
            engine.complete(None, "Hi", gramar=None)  # type: ignore[arg-type, call-arg]
    with pytest.raises(UsageError, match="did you mean 'early'"):
        Guard.judge(None, None, earlyy=True)  # type: ignore[arg-type, call-arg]
    template = local.ChatTemplate("{{ messages[0].content }}")
    with pytest.raises(UsageError, match="did you mean 'add_generation_prompt'"):
        template.render([{"content": "Hi"}], add_generation_promt=False)
    assert template.render([{"content": "Hi"}], enable_thinking=False) == "Hi"

import json

import pytest

from local.test_gguf import PAIRS, gguf
from rightcall.errors import UsageError
from rightcall.local.template.template_file import read_template

ADDED = {
    "0": {"content": "<s>", "special": True},
    "1": {"content": "<tool_call>", "special": False},
    "2": "odd",
}


@pytest.fixture
def folder(tmp_path):
    def write(config=None, **files):
        if config is not None:
            (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.with_suffix(".jinja").write_text(text)
        return tmp_path

    return write


def test_a_gguf_gives_its_templates_and_tokens(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(PAIRS))
    template = read_template(path)
    assert template.variants == {"default": "plain {{ messages }}", "tool_use": "with tools"}
    assert template.tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert (template.special, template.add_bos) == (("<s>", "</s>"), True)


def test_a_gguf_without_a_template_is_refused_in_words(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf({}))
    with pytest.raises(UsageError, match="the model 'model' carries no chat template"):
        read_template(path)


def test_a_configuration_gives_its_template_and_tokens(folder):
    config = {
        "chat_template": "{{ bos_token }}",
        "bos_token": {"content": "<s>", "lstrip": False},
        "eos_token": "</s>",
        "pad_token": None,
        "add_bos_token": True,
        "added_tokens_decoder": ADDED,
        "model_max_length": 5,
    }
    template = read_template(folder(config) / "tokenizer_config.json")
    assert template.variants == {"default": "{{ bos_token }}"}
    assert template.tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert (template.special, template.add_bos) == (("<s>",), True)
    assert template.render([]) == "<s>"


def test_a_configuration_may_have_several_templates(folder):
    named = [{"name": "default", "template": "one"}, {"name": "tool_use", "template": "two"}, "odd"]
    assert read_template(folder({"chat_template": named})).variants == {
        "default": "one",
        "tool_use": "two",
    }


def test_a_file_beside_the_configuration_stands_before_it(folder):
    place = folder(
        {"chat_template": "old", "eos_token": "</s>"},
        chat_template="new",
        additional_chat_templates__rag="with documents",
    )
    template = read_template(place)
    assert template.variants == {"default": "new", "rag": "with documents"}
    assert template.tokens == {"eos_token": "</s>"}


def test_a_folder_may_hold_nothing_but_the_template(folder):
    assert read_template(folder(chat_template="alone")).variants == {"default": "alone"}


def test_settings_stand_before_what_is_read(folder):
    place = folder({"chat_template": "x", "eos_token": "</s>"})
    assert read_template(place, tokens={"eos_token": "<end>"}).tokens == {"eos_token": "<end>"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "it holds no object"),
        ("{}", "holds no chat template, and there is no chat_template.jinja"),
        ('{"chat_template": 5}', "neither text nor a list"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_what_is_no_configuration_is_refused_in_words(tmp_path, content, reason):
    path = tmp_path / "tokenizer_config.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=reason):
        read_template(path)


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(UsageError, match=r"chat_template\.jinja cannot be read: No such file"):
        read_template(tmp_path)

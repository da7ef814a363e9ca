import time

import pytest
from msgspec.structs import replace

from local.template.samples import BAR, OWN, TOKENS, found
from rightcall.local.template.chat_template import ChatTemplate
from rightcall.local.template.quirks import Quirks, Switch, probe, tail_of

THINK = {"none": False, "minimal": True, "low": True, "medium": True, "high": True, "max": True}
EFFORT = {
    "none": "low",
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "max": "high",
}
NO_TOOLS = {"tools": "ignored", "calls": False, "parallel": False, "text_with_calls": False}

QUIRKS = {
    "chatml": Quirks(
        developer="shown",
        **NO_TOOLS,
        tail="<|im_start|>assistant\n",
    ),
    "hermes": Quirks(
        developer="refused",
        arguments="either",
        reasoning="reasoning_content",
        tail="<|im_start|>assistant\n",
        thinking=("<think>", "</think>"),
        switches=(Switch(name="enable_thinking", values=THINK),),
    ),
    "llama": Quirks(
        developer="shown",
        parallel=False,
        text_with_calls=False,
        tail="<|start_header_id|>assistant<|end_header_id|>\n\n",
        writes_bos=True,
    ),
    "mistral": Quirks(
        system="ignored",
        developer="refused",
        ids="nine",
        ids_shown=True,
        alternates=True,
        user_after_results=False,
        text_with_calls=False,
        opens="always",
        tail="[/INST]",
        writes_bos=True,
    ),
    "gemma": Quirks(
        system="refused",
        developer="refused",
        results="",
        alternates=True,
        **NO_TOOLS,
        tail="<start_of_turn>model\n",
        writes_bos=True,
    ),
    "deepseek": Quirks(
        arguments="text",
        no_text="null",
        text_with_calls=False,
        tail=f"<{BAR}Assistant{BAR}><think>\n",
        thinking=("<think>", "</think>"),
        opens_thinking=True,
        writes_bos=True,
    ),
    "parts": Quirks(
        takes_text=False,
        takes_parts=True,
        developer="shown",
        **NO_TOOLS,
        tail="<|turn>assistant\n",
    ),
    "harmony": Quirks(
        developer="shown",
        parallel=False,
        reasoning="thinking",
        reasoning_with_text=False,
        tail="<|start|>assistant",
        switches=(Switch(name="reasoning_effort", values=EFFORT),),
    ),
    "flat": Quirks(developer="shown", flat_tools=True, flat_calls=True, tail="<|assistant|>"),
    "rag": Quirks(system="ignored", results="", **NO_TOOLS, tail="Assistant:"),
    "never": Quirks(developer="shown", **NO_TOOLS, opens="never", tail="<assistant>"),
    "doubled": Quirks(developer="shown", **NO_TOOLS, opens="doubled", tail="<assistant>"),
    "needs_tools": Quirks(
        developer="shown",
        needs_tools=True,
        calls=False,
        parallel=False,
        text_with_calls=False,
        tail="<assistant>",
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_a_template_is_known_by_what_it_does(name):
    found_out = probe(ChatTemplate(OWN[name], tokens=TOKENS))
    assert replace(found_out, markers=()) == QUIRKS[name]


@pytest.mark.parametrize(
    ("name", "markers"),
    [
        ("chatml", {"<|im_start|>", "<|im_end|>"}),
        ("hermes", {"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>"}),
        ("mistral", {"[INST]", "[/INST]", "[TOOL_RESULTS]", "[TOOL_CALLS]", "[/AVAILABLE_TOOLS]"}),
        ("deepseek", {f"<{BAR}User{BAR}>", f"<{BAR}tool▁call▁begin{BAR}>", "</think>"}),
        ("parts", {"<|turn>", "<turn|>"}),
    ],
)
def test_what_stands_around_content_is_special(name, markers):
    quirks = probe(ChatTemplate(OWN[name], tokens=TOKENS, special=["<|reserved|>"]))
    assert {*markers, "<s>", "</s>", "<|reserved|>"} <= set(quirks.markers)
    assert not {"<tools>", "<function-name>", "<args-json-object>"} & set(quirks.markers)


def test_problems_are_said_in_words():
    assert probe(ChatTemplate(OWN["gemma"], tokens=TOKENS)).problems == (
        "the template refuses a system message: it is merged into the first user message",
        "the template ignores tools: they are described in the system message instead",
        "the template does not show earlier calls: they are written as the assistant's text",
        "the template does not show results: they are given as user messages",
        "the template wants user and assistant to take turns: messages of one role are merged",
        "the template does not show reasoning: earlier thoughts are left out",
    )
    assert probe(ChatTemplate(OWN["hermes"], tokens=TOKENS)).problems == ()


def test_a_thought_that_the_prompt_opens_is_noticed():
    shown = "{% for m in messages %}{{ m.content }}{% endfor %}"
    text = shown + "{% if add_generation_prompt %}<a>%s{% endif %}"
    both = "{# <think> </think> #}"
    opened = probe(ChatTemplate(text.replace("%s", "<think>\n") + both))
    closed = probe(ChatTemplate(text.replace("%s", "<think>\n\n</think>\n") + both))
    assert (opened.thinking, opened.opens_thinking) == (("<think>", "</think>"), True)
    assert (closed.thinking, closed.opens_thinking) == (("<think>", "</think>"), False)


def test_reasoning_may_have_to_be_a_part_of_the_content():
    text = (
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for p in m.content %}"
        "{{ '[THINK]' + p.thinking + '[/THINK]' if p.type == 'thinking' else p.text }}"
        "{% endfor %}{% endif %}{% endfor %}"
    )
    quirks = probe(ChatTemplate(text))
    assert (quirks.reasoning, quirks.thinking) == ("part", ("[THINK]", "[/THINK]"))


def test_the_template_for_tools_is_tried_with_tools():
    variants = {"default": OWN["chatml"], "tool_use": OWN["hermes"]}
    quirks = probe(ChatTemplate(variants, tokens=TOKENS))
    assert (quirks.tools, quirks.calls, quirks.developer) == ("shown", True, "shown")


def test_a_template_that_refuses_everything_is_probed_all_the_same():
    quirks = probe(ChatTemplate("{{ raise_exception('no') }}"))
    assert (quirks.shows_user, quirks.system, quirks.tools) == (True, "refused", "refused")


def test_a_template_that_shows_nobody_is_no_chat_template():
    assert probe(ChatTemplate("hello")).shows_user is False


@pytest.mark.parametrize(
    ("opened", "unopened", "tail"),
    [
        ("a<|b|>", "a", "<|b|>"),
        ("same", "same", ""),
        ("text<|end|>\n<|assistant|>\n", "text<|end|>\n<|endoftext|>", "<|assistant|>\n"),
        ("a [INST]", "a [INFO]", "[INST]"),
        ("one", "two", "one"),
    ],
)
def test_a_tail_is_what_the_opening_adds(opened, unopened, tail):
    assert tail_of(opened, unopened) == tail


def test_probing_is_quick_and_done_once():
    templates = [ChatTemplate(text, tokens={"bos_token": "<quick>"}) for text in OWN.values()]
    began = time.process_time()
    first = [probe(template) for template in templates]
    took = (time.process_time() - began) / len(templates)
    assert took < 0.05
    assert all(probe(template) is quirks for template, quirks in zip(templates, first, strict=True))


def test_every_template_on_this_machine_can_be_probed():
    for text in found().values():
        assert isinstance(probe(ChatTemplate(text, tokens=TOKENS)), Quirks)


def test_an_assistant_that_says_nothing_may_have_to_say_something():
    text = "{% for m in messages %}{{ m.content or raise_exception('say something') }}{% endfor %}"
    assert probe(ChatTemplate(text)).silence == "OK."

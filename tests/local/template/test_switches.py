import pytest

from rightcall.local.template.chat_template import ChatTemplate
from rightcall.local.template.quirks import Switch, probe, set_reasoning

USER = "{% for m in messages %}{{ m.content }}{% endfor %}"


def switched(text, wanted):
    return set_reasoning(probe(ChatTemplate(USER + text)).switches, wanted)


WORDS = ["none", "minimal", "low", "medium", "high", "max"]

TEMPLATES = {
    "a boolean": (
        "{{ '<think></think>' if not enable_thinking }}",
        [{"enable_thinking": word != "none"} for word in WORDS],
    ),
    "a boolean by another name": (
        "{% if thinking %}<think>{% endif %}",
        [{"thinking": word != "none"} for word in WORDS],
    ),
    "a word that the model reads": (
        "Reasoning: {{ reasoning_effort or 'medium' }}",
        [{"reasoning_effort": word} for word in ["low", "low", "low", "medium", "high", "high"]],
    ),
    "words of its own, and no others": (
        "{{ {'no_think': 0, 'low': 1, 'high': 2}[reasoning_effort or 'high'] + 0 }}",
        [{"reasoning_effort": word} for word in ["no_think", "low", "low", "high", "high", "high"]],
    ),
    "one word that matters": (
        "{% if reasoning_effort == 'max' %}Do your utmost.{% endif %}",
        [{}, {}, {}, {}, {}, {"reasoning_effort": "max"}],
    ),
    "enabled and disabled": (
        "{{ {'enabled': '<think>', 'disabled': '</think>'}[thinking_mode] }}",
        [{"thinking_mode": "disabled"}, *[{"thinking_mode": "enabled"}] * 5],
    ),
    "a word that matters only when thinking is on": (
        "{% if thinking %}<think>{% if reasoning_effort == 'high' %}much{% endif %}{% endif %}",
        [
            {"thinking": False},
            *[{"thinking": True}] * 3,
            {"thinking": True, "reasoning_effort": "high"},
            {"thinking": True},
        ],
    ),
    "a number of tokens": (
        "{{ thinking_budget }}",
        [{"thinking_budget": tokens} for tokens in [0, 512, 1024, 4096, 16_384]] + [{}],
    ),
    "a variable that changes nothing": ("{% if enable_thinking %}{% endif %}", [{}] * 6),
    "nothing": ("", [{}] * 6),
}


@pytest.mark.parametrize(("text", "expected"), TEMPLATES.values(), ids=TEMPLATES.keys())
def test_a_level_of_reasoning_becomes_what_the_template_reads(text, expected):
    assert [switched(text, word) for word in WORDS] == expected


@pytest.mark.parametrize(
    ("tokens", "level"), [(0, "none"), (1, "minimal"), (1024, "low"), (5000, "high"), (99_999, "max")]
)
def test_a_number_of_tokens_becomes_the_nearest_level(tokens, level):
    switches = (Switch(name="effort", values={word: word for word in WORDS}),)
    assert set_reasoning(switches, tokens) == {"effort": level}


def test_a_number_of_tokens_stays_one_where_it_can():
    assert switched("{{ thinking_budget }}", 777) == {"thinking_budget": 777}


def test_a_level_that_nobody_knows_sets_nothing():
    assert switched(TEMPLATES["a boolean"][0], "enormous") == {}

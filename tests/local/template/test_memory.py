"""A chat template from a stranger takes no more memory than it is allowed."""

import json
import re
import subprocess
import sys

import pytest

from local.template import memory_attacks
from local.template.memory_attacks import ATTACKS, BOUNDS
from rightcall.errors import EncodeError
from rightcall.local.template.chat_template import ChatTemplate
from rightcall.local.template.rendering import Bounds


@pytest.fixture(scope="module")
def attacked():
    """What was said of each attack, and by how many bytes the process and its children had grown."""
    ran = subprocess.run(
        [sys.executable, memory_attacks.__file__],
        capture_output=True,
        check=True,
        timeout=120,
    )
    return {name: rest for name, *rest in map(json.loads, ran.stdout.splitlines())}


def test_every_attack_is_ended_by_a_bound(attacked):
    assert list(attacked) == list(ATTACKS)
    bound = re.compile("it builds more than 64 MB|it builds something of more|it was still not rendered")
    assert [name for name, (said, *_) in attacked.items() if not bound.search(said)] == []


def test_no_attack_takes_more_memory_than_is_allowed(attacked):
    # What is let go of is not always given back to the system, so that it adds up over all of them.
    assert sum(grown for _, grown, _ in attacked.values()) < 3 * BOUNDS.memory
    assert max(grown for _, grown, _ in attacked.values()) < 1.5 * BOUNDS.memory
    assert max(grown for *_, grown in attacked.values()) < 1.5 * BOUNDS.memory


def test_a_text_that_grows_with_every_message_of_a_long_talk_is_rendered():
    text = (
        "{% set ns = namespace(all='', seen=[]) %}{% for m in messages %}"
        "{% set ns.all = ns.all + m.content %}{% set ns.seen = ns.seen + [m] %}{% endfor %}"
        "{{ ns.all }}{{ ns.seen|length }}"
    )
    messages = [{"role": "user", "content": "word " * 100}] * 1000
    assert ChatTemplate(text).render(messages) == "word " * 100_000 + "1000"


def test_the_memory_is_that_of_one_rendering():
    few = Bounds(memory=2_000_000)
    once = ChatTemplate("{{ 'x' * 500000 }}", bounds=few)
    assert {len(once.render([])) for _ in range(9)} == {500_000}
    grown = "{% set ns.x = ns.x + ['x' * 500000 ~ i] %}"
    text = f"{{% set ns = namespace(x=[]) %}}{{% for i in range(99) %}}{grown}{{% endfor %}}"
    often = ChatTemplate(text, bounds=few)
    with pytest.raises(EncodeError, match="it builds more than 2 MB"):
        often.render([])
    assert len(once.render([])) == 500_000

import time
from datetime import datetime, timedelta, timezone

import pytest

from local.template.conversations import CONVERSATIONS
from local.template.samples import OWN, TOKENS, found
from rightcall import bounded_child
from rightcall.errors import EncodeError, UsageError
from rightcall.local.template import rendering
from rightcall.local.template.chat_template import ChatTemplate
from rightcall.local.template.rendering import Bounds
from rightcall.local.template.sandbox import LONGEST_TEMPLATE, fixed_opening, to_json

SMALL = Bounds(seconds=0.2, characters=200_000)


def render(text, messages=(), **settings):
    return ChatTemplate(text, **{"bounds": SMALL, **settings}).render(list(messages))


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        ({"b": 1, "a": "é<&>'\u2028"}, {}, '{"b": 1, "a": "é<&>\'\u2028"}'),
        ({"b": 1, "a": 2}, {"sort_keys": True}, '{"a": 2, "b": 1}'),
        ([1, 2], {"indent": 2}, "[\n  1,\n  2\n]"),
        ({"a": [1.5, True, None]}, {"separators": (",", ":")}, '{"a":[1.5,true,null]}'),
        ("é", {"ensure_ascii": True}, '"\\u00e9"'),
    ],
)
def test_json_is_written_as_models_are_trained_on_it(value, options, text):
    assert to_json(value, **options) == text


def test_blocks_leave_no_white_space_behind():
    assert render("a\n  {% if true %}\n  b\n  {% endif %}\nc\n") == "a\n  b\nc"


def test_loops_can_be_broken_off_and_gone_on_with():
    text = (
        "{% for n in range(9) %}{% if n == 1 %}{% continue %}{% endif %}"
        "{% if n == 4 %}{% break %}{% endif %}{{ n }}{% endfor %}"
    )
    assert render(text) == "023"


def test_a_generation_block_is_its_body_and_keeps_its_names_to_itself():
    text = "{% set x = 1 %}{% generation %}{% set x = 2 %}<{{ x }}>{% endgeneration %}{{ x }}"
    assert render(text) == "<2>1"


def test_a_namespace_takes_any_public_name():
    assert render("{% set ns = namespace(self=1) %}{% set ns.b = 2 %}{{ ns.self }}{{ ns.b }}") == "12"


ESCAPES = {
    "class": "{{ ''.__class__ }}",
    "subclasses": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "attribute filter": "{{ (''|attr('__class__')).__mro__ }}",
    "item": "{{ messages['__class__'].mro() }}",
    "format": "{{ '{0.__class__.__mro__}'.format(messages) }}",
    "format map": "{{ '{a.__class__.mro}'.format_map({'a': messages}) }}",
    "globals of a function": "{{ raise_exception.__globals__ }}",
    "globals of a method": "{{ messages.append.__self__ }}",
    "globals of the cycler": "{{ cycler.__init__.__globals__.os }}",
    "dict": "{{ dict.__class__.mro() }}",
    "namespace": "{{ namespace.__init__.__globals__ }}",
    "a private member": "{{ namespace(__class__=1) }}",
    "a private member, set": "{% set ns = namespace() %}{% set ns._x = 1 %}",
    "changing a list": "{{ messages.append(1) }}",
    "changing a dict": "{% set d = {} %}{{ d.update(a=1) }}",
    "the code of a macro": "{% macro m() %}{% endmacro %}{{ m._func.__code__ }}",
    "the environment": "{{ self._TemplateReference__context.environment }}",
    "an import": "{% import 'os' as os %}{{ os }}",
    "an include": "{% include '/etc/passwd' %}",
}


@pytest.mark.parametrize("text", ESCAPES.values(), ids=ESCAPES.keys())
def test_a_template_reaches_nothing_but_what_it_is_given(text):
    try:
        shown = render(text, [{"role": "user", "content": "x"}])
    except (EncodeError, UsageError):
        shown = ""
    assert shown == ""


def grown(begin, step, shown=""):
    """A value that is made out of itself ninety-nine times."""
    loop = f"{{% for i in range(99) %}}{{% set ns.x = {step} %}}{{% endfor %}}"
    return f"{{% set ns = namespace(x={begin}) %}}{loop}{shown}"


ENDLESS = {
    "a large range": "{% for i in range(10**9) %}{{ i }}{% endfor %}",
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "loops in loops that write": (
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"
    ),
    "a macro that calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a macro that calls itself twice": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"
    ),
    "a recursive loop": (
        "{% for i in range(999) recursive %}{{ loop(range(999)) if loop.depth < 9 }}{% endfor %}"
    ),
    "text times a number": "{{ 'x' * 10**12 }}",
    "a number times text": "{{ 10**12 * 'x' }}",
    "a list times a number": "{{ ([1] * 10**12) | length }}",
    "bytes times a number": "{{ ('x'.encode() * 3 * 10**9) | length }}",
    "a number times bytes": "{{ (3 * 10**9 * 'x'.encode()) | length }}",
    "bytes that double": grown("'x'.encode()", "ns.x + ns.x"),
    "a width of bytes": "{{ 'x'.encode().ljust(3 * 10**9) | length }}",
    "a width in a format of bytes": "{{ ('%999999999d'.encode() % 1) | length }}",
    "replacing bytes": "{% set x = 'x'.encode() * 99999 %}{{ x.replace('x'.encode(), x) | length }}",
    "joining bytes": "{% set x = 'x'.encode() * 99999 %}{{ x.join([x] * 9999) | length }}",
    "a number as bytes": "{{ (1).to_bytes(3 * 10**9, 'big') | length }}",
    "a power": "{{ 9 ** 999999999 }}",
    "a product that doubles": grown("7", "ns.x * ns.x"),
    "adding that doubles": grown("'x'", "ns.x + ns.x"),
    "joining that doubles": grown("'x'", "ns.x ~ ns.x"),
    "joining in joining": grown("'x'", "'' ~ (ns.x ~ ns.x)"),
    "a list that doubles": grown("[1]", "ns.x + ns.x"),
    "a block that doubles": (
        "{% set ns = namespace(x='x') %}{% for i in range(99) %}"
        "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}{% endfor %}"
    ),
    "json that doubles": grown("[1]", "[ns.x, ns.x]", "{{ ns.x | tojson }}"),
    "a list that is shown and doubles": grown("[1]", "[ns.x, ns.x]", "{{ ns.x }}"),
    "a list as text that doubles": grown("[1]", "[ns.x, ns.x]", "{{ ns.x | string | length }}"),
    "a width in a method": "{{ 'x'.ljust(10**10) | length }}",
    "a width in a filter": "{{ 'x' | center(10**10) | length }}",
    "a width in a format": "{{ '%9999999999d' % 1 }}",
    "a width from the arguments": "{{ '%*d' % (10**10, 1) }}",
    "a width in a format method": "{{ '{:>9999999999}'.format(1) }}",
    "a width in a nested field": "{{ '{:>{w}}'.format(1, w=10**10) }}",
    "a width in the format filter": "{{ '%9999999999d' | format(1) }}",
    "a format that repeats": "{{ ('%(a)s' * 9999) % {'a': 'x' * 99999} }}",
    "replacing": "{% set x = 'x' * 99999 %}{{ x.replace('x', x) | length }}",
    "replacing in a filter": "{% set x = 'x' * 99999 %}{{ (x | replace('x', x)) | length }}",
    "joining a list": "{% set x = 'x' * 99999 %}{{ x.join(['a'] * 9999) | length }}",
    "joining in a filter": "{% set x = 'x' * 99999 %}{{ ['a'] * 9999 | join(x) | length }}",
    "joining long texts": "{% set x = 'x' * 99999 %}{{ ([x] * 9999) | join | length }}",
    "an indent": "{{ [1] | tojson(indent=10**10) | length }}",
    "rounding": "{{ 1.5 | round(10**9, 'ceil') }}",
    "filling up": "{{ [1] | batch(10**10, 0) | list | length }}",
    "filler": "{{ lipsum(n=10**9) }}",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_template_that_would_not_end_or_not_stop_growing_is_ended(text):
    began = time.monotonic()
    with pytest.raises(EncodeError):
        render(text)
    assert time.monotonic() - began < 10


def test_the_words_say_which_bound_it_was():
    with pytest.raises(EncodeError, match=r"it was still not rendered after 0\.2 s"):
        render(ENDLESS["loops in loops"])
    with pytest.raises(EncodeError, match="something of more than 200,000 characters"):
        render("{{ 'x' * 200001 }}")
    with pytest.raises(EncodeError, match="it builds more than 512 MB"):
        render("{{ 'x' * 10**12 }}")
    with pytest.raises(EncodeError, match="calls itself without end"):
        render(ENDLESS["a macro that calls itself"], bounds=Bounds(seconds=60, characters=200_000))


def test_what_is_within_the_bounds_is_rendered():
    text = "{% for i in range(9999) %}{{ 'x' * 10 ~ 'y' }}{% endfor %}"
    assert render(text, bounds=Bounds()) == ("x" * 10 + "y") * 9999


def test_bounds_are_those_of_one_rendering():
    template = ChatTemplate("{% for i in range(999) %}{% endfor %}{{ messages | length }}", bounds=SMALL)
    began = time.monotonic()
    while time.monotonic() - began < 2 * SMALL.seconds:
        assert template.render([]) == "0"


DEEP = {
    "brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "blocks": "{% if a %}" * 3000 + "{% endif %}" * 3000,
    "loops": "{% for a in b %}" * 50 + "{% endfor %}" * 50,
    "lists": "{{ " + "[" * 3000 + "]" * 3000 + " }}",
    "size": "x" * (LONGEST_TEMPLATE + 1),
    "an unknown filter": "{{ 1 | nope }}",
    "an unknown tag": "{% nope %}",
    "no end": "{% if a %}",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_a_template_that_cannot_be_compiled_is_refused_in_words(text):
    with pytest.raises(UsageError, match="the chat template"):
        ChatTemplate(text)


def test_joining_keeps_its_order_however_deeply_it_is_nested():
    assert render("{% set a = 1 %}{{ a ~ (2 ~ (3 ~ 4)) ~ 5 }}") == "12345"


def test_a_constant_is_not_evaluated_while_a_template_is_compiled():
    began = time.monotonic()
    for text in ("{{ 9 ** 999999999 }}", "{{ 'x' * 10**12 }}", "{% set x = 9 ** 999999999 %}"):
        ChatTemplate(text)
    assert time.monotonic() - began < 5


def test_a_template_that_is_trusted_is_rendered_in_this_process(monkeypatch):
    monkeypatch.setattr(bounded_child, "_START", "raise SystemExit(3)")
    rendering._CHILDREN.close()
    assert render("{{ messages }}", bounds=None) == "[]"
    with pytest.raises(EncodeError, match="could not start: 3"):
        render("{{ messages }}")


def test_a_render_by_a_warm_child_takes_little_time():
    template = ChatTemplate("{{ messages }}")
    took = []
    for _ in range(50):
        began = time.perf_counter()
        template.render([])
        took.append(time.perf_counter() - began)
    assert sorted(took)[25] < 0.005


def test_a_clock_has_its_own_time_zone():
    moment = datetime(2026, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=-7, minutes=-30), "here"))
    text = "{{ strftime_now('%d %B %Y %H:%M %Z %z') }}"
    assert render(text, clock=lambda: moment) == "02 January 2026 03:04 here -0730"


def test_text_that_is_no_unicode_goes_there_and_back():
    assert render("{{ messages[0].content }}", [{"role": "user", "content": "\ud800x"}]) == "\ud800x"


def opened(name, text, add):
    template = ChatTemplate(text, tokens=TOKENS)
    messages, given = CONVERSATIONS[name]
    try:
        return template.render(messages, add_generation_prompt=add, **given)
    except EncodeError:
        return None


@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_a_fixed_opening_is_all_that_opening_adds(conversation):
    fixed = {name: text for name, text in (OWN | found()).items() if fixed_opening(text) is not None}
    assert len(fixed) >= 10
    for text in fixed.values():
        with_it, without = (opened(conversation, text, add) for add in (True, False))
        assert with_it == (None if without is None else without + fixed_opening(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% if add_generation_prompt %}<a>{{ 'b' }}{% endif %}", "<a>b"),
        ("x{% if add_generation_prompt %}{% endif %}", ""),
        ("{% if add_generation_prompt %}<a>{% endif %} ", None),
        ("{% if add_generation_prompt %}{{ messages }}{% endif %}", None),
        ("{% if add_generation_prompt %}{% if x %}<a>{% endif %}{% endif %}", None),
        ("{% if add_generation_prompt %}<a>{% else %}<b>{% endif %}", None),
        ("{% if add_generation_prompt and x %}<a>{% endif %}", None),
        ("{{ add_generation_prompt }}{% if add_generation_prompt %}<a>{% endif %}", None),
        ("{% if other %}<a>{% endif %}", None),
        ("", None),
    ],
)
def test_an_opening_is_fixed_only_if_nothing_can_change_it(text, expected):
    assert fixed_opening(text) == expected

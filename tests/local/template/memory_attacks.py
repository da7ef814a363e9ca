"""Chat templates that would take all memory, each in a process that says how much it took."""

import json
import resource
import sys

from rightcall.errors import EncodeError
from rightcall.local.template.chat_template import ChatTemplate
from rightcall.local.template.rendering import _CHILDREN, Bounds

BOUNDS = Bounds(seconds=0.2, characters=1_000_000, memory=64_000_000)
HARD = 2 << 30

_BIG = "{% set big = 'x' * 499999 %}"
_NUMBER = (
    "{% set s = namespace(n=7) %}{% for i in range(19) %}{% set s.n = s.n * s.n %}{% endfor %}"
    "{% set n = s.n %}"
)
_LINES = "{% set lines = '\\n' * 499999 %}"


def kept(value, begin=""):
    """What is kept, one beside the other, until the memory is full."""
    loop = f"{{% for i in range(99999) %}}{{% set ns.x = [ns.x, {value}] %}}{{% endfor %}}"
    return f"{_BIG}{begin}{{% set ns = namespace(x=0) %}}{loop}"


def doubled(shown):
    """A list that holds itself twice, and that twice, and so on; and another that is equal to it."""
    loop = (
        "{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"
    )
    return f"{{% set ns = namespace(x=[1], y=[1]) %}}{loop}{shown}"


ATTACKS = {
    "slices": kept("big[i:]"),
    "upper case": kept("big.upper()"),
    "a filter": kept("big|lower"),
    "sums": kept("big + 'y'"),
    "a product": kept("'y' * 499999"),
    "bytes": kept("big.encode('utf-32')"),
    "formats": kept("'%s!' % big"),
    "format methods": kept("'{}!'.format(big)"),
    "pieces": kept("big.split('xx')"),
    "lists": kept("range(99999)|list"),
    "dictionaries": kept("dict.fromkeys(range(99999))"),
    "a macro": kept("m()", "{% macro m() %}{{ big }}{% endmacro %}"),
    "small things": kept("{'a': [i, [i]], 'b': (i, i)}"),
    "namespaces": kept("namespace(a=i)"),
    "cyclers": kept("cycler(*l)", "{% set l = range(99999)|list %}"),
    "copies in namespaces": kept("namespace(d)", "{% set d = dict.fromkeys(range(99999)) %}"),
    "what is left of long pieces": kept(
        "t.split('y')", "{% set t = big[:400000] ~ 'y' ~ big[:400000] %}"
    ),
    "halves": kept("t.partition('y')", "{% set t = big[:400000] ~ 'y' ~ big[:400000] %}"),
    "batches": kept("l|batch(9999)|list", "{% set l = range(99999)|list %}"),
    "differences of numbers": kept("n - i", _NUMBER),
    "quotients of numbers": kept("n // 3", _NUMBER),
    "negative numbers": kept("-n", _NUMBER),
    "arguments": kept(
        "m(*l)", "{% set l = range(99999)|list %}{% macro m() %}{{ varargs }}{% endmacro %}"
    ),
    "loops that know their length": (
        "{% set ns = namespace(x=0) %}{% for i in range(99999) %}{% for j in range(99999)|select %}"
        "{% if loop.length %}{% set ns.x = [ns.x, loop] %}{% break %}{% endif %}{% endfor %}{% endfor %}"
    ),
    "lists in a block": (
        "{% set l = range(99999)|list %}{% set x %}{% for i in range(99999) %}{{ l }}{% endfor %}"
        "{% endset %}"
    ),
    "escapes in a block": (
        "{% autoescape true %}{% set l = '<' * 499999 %}{% set x %}{% for i in range(99999) %}{{ l }}"
        "{% endfor %}{% endset %}{% endautoescape %}"
    ),
    "loops in a block": (
        "{% set x %}{% for i in range(99999) %}{% for j in range(99999) %}{{ j }}{% endfor %}"
        "{% endfor %}{% endset %}"
    ),
    "empty pieces in a block": (
        "{% set x %}{% for i in range(99999) %}{% for j in range(99999) %}{{ '' }}{% endfor %}"
        "{% endfor %}{% endset %}"
    ),
    "widths in a format": "{{ ('%(a)99999d' * 99999) % {'a': 1} }}",
    "widths in a format method": "{{ ('{0:99999}' * 99999).format(1) }}",
    "widths of marked text": "{{ ('a'|safe).ljust(10**10)|length }}",
    "joining marked text": _BIG + "{{ (big|safe).join(['a'] * 9999)|length }}",
    "joining the characters of a text": _BIG + "{{ big.join(big)|length }}",
    "joining what is lazy": _BIG + "{{ range(9999)|map('string')|join(big)|length }}",
    "joining lazily by a method": _BIG + "{{ big.join(range(9999)|map('string'))|length }}",
    "translating": _BIG + "{{ big.translate({120: big})|length }}",
    "tabs": "{{ ('\\t' * 499999).expandtabs(99999)|length }}",
    "an indent": _LINES + "{{ lines|indent(99999, true, true)|length }}",
    "an indent that is text": _BIG + _LINES + "{{ lines|indent(big, true, true)|length }}",
    "json with an indent": "{{ ([1] * 99999)|tojson(indent=99999)|length }}",
    "json with separators": _BIG + "{{ ([1] * 99999)|tojson(separators=(big, big))|length }}",
    "wrapping": _BIG + "{{ big|wordwrap(1, true, big)|length }}",
    "links": _BIG + "{{ ('https://a.com ' * 99999)|urlize(target=big)|length }}",
    "adding lists up": "{{ ([range(9999)|list] * 9999)|sum(start=[])|length }}",
    "slices of nothing": "{{ []|slice(10**8)|list|length }}",
    "characters": "{{ ('ж' * 3499999)|list|length }}",
    "words": "{{ ('ж ж' * 999999).split()|length }}",
    "dates": "{{ strftime_now('%c' * 499999)|length }}",
    "a replacement by a list": _BIG + "{{ big|replace('x', [big])|length }}",
    "long numbers": "{{ ([7**4999] * 499999)|string|length }}",
    "doubled and joined": doubled("{{ ns.x ~ '' }}"),
    "doubled and in upper case": doubled("{{ ns.x|upper }}"),
    "doubled and escaped": doubled("{{ ns.x|e }}"),
    "doubled and printed": doubled("{{ ns.x|pprint }}"),
    "doubled and joined as members": doubled("{{ ns.x|join }}"),
    "doubled and compared": doubled("{{ ns.x == ns.y }}"),
    "doubled and tested": doubled("{{ ns.x is eq(ns.y) }}"),
    "doubled and its case tested": doubled("{{ ns.x is upper }}"),
    "doubled and sorted": doubled("{{ [ns.x, ns.y]|sort }}"),
    "doubled and shown in a view": doubled("{{ {'a': ns.x}.items() }}"),
    "doubled and shown in a namespace": doubled("{{ ns }}"),
    "doubled and raised": doubled("{{ raise_exception(ns.x) }}"),
    "doubled and a key": (
        "{% set ns = namespace(x=(1,)) %}{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}"
        "{% endfor %}{{ {ns.x: 1} }}"
    ),
}


def peak(whose: int) -> int:
    """The most memory that this process, or any child of it that has ended, ever had, in bytes."""
    return resource.getrusage(whose).ru_maxrss * 1024


def render(text: str) -> str:
    """What is said of a template, whose child has ended by then."""
    try:
        ChatTemplate(text, bounds=BOUNDS).render([])
    except EncodeError as error:
        return str(error)
    finally:
        _CHILDREN.close()
    return "rendered"


def main() -> None:
    """Write what is said of each attack, and by how much this process and its children have grown."""
    render("x")
    usual = peak(resource.RUSAGE_CHILDREN)
    for name in sys.argv[1:] or ATTACKS:
        before = peak(resource.RUSAGE_SELF)
        said = render(ATTACKS[name])
        grown = peak(resource.RUSAGE_SELF) - before
        sys.stdout.write(json.dumps([name, said, grown, peak(resource.RUSAGE_CHILDREN) - usual]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    # What would take more ends here, and not the machine.
    resource.setrlimit(resource.RLIMIT_AS, (HARD, HARD))
    main()

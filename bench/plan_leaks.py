"""Random plans, each run twice with other untrusted words: calls that labels call clean must be equal.

    python bench/plan_leaks.py [plans] [seed]

A plan may fail in one of the two runs and not in the other, which tells one bit: then the clean calls of
the one are the beginning of the other's.
"""

import ast
import json
import random
import re
import sys
import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from rightcall.core.jsontext import Place
from rightcall.plan.parse import parse
from rightcall.plan.run import Answered, step
from rightcall.plan.scope import Extract, Wants
from rightcall.plan.value import (
    Labelling,
    SourceKind,
    Value,
    as_json,
    deep_taint,
    of_json,
)

TOOLS = frozenset({"look", "find", "say"})
WORDS = ("ab", "ba", "abc", "c", "", "aa", "cab")
FREE = frozenset({"body", "tags", "note"})


class Ran(NamedTuple):
    """What one run of a plan did."""

    clean: list[str]
    """The calls whose labels say that no outsider had a hand in them."""
    calls: int
    ended: bool


def run(tree: ast.Module, words: int) -> Ran:
    """Run a plan in a world whose outsiders say what ``words`` makes them say."""
    clean: list[str] = []
    calls = 0

    def outside(wants: Wants) -> Value:
        nonlocal calls
        calls += 1
        if isinstance(wants, Extract):
            asked = json.dumps([as_json(wants.text), wants.wanted.name, as_json(wants.question)])
            taint = deep_taint(wants.text) | deep_taint(wants.question)
            kind: SourceKind = "read" if taint else "system"
            say = random.Random(f"{words if taint else 0}{asked}")
            answer = say.choice(WORDS) if wants.wanted.name == "str" else say.randrange(4)
            return of_json(
                answer, Labelling(tool="extract", call=calls, kind_at=lambda _: kind, chosen=taint)
            )
        given = json.dumps([[as_json(each) for each in wants.args], as_json_all(wants.named)])
        taint = frozenset().union(*(deep_taint(each) for each in (*wants.args, *wants.named.values())))
        if not taint and not wants.branch:
            clean.append(f"{wants.function}{given}")
        labels = Labelling(
            tool=wants.function,
            call=calls,
            kind_at=_kind,
            chosen=taint,
            is_found=wants.function == "find",
        )
        return of_json(_world(wants.function, given, words), labels)

    ended = isinstance(step(tree, TOOLS, outside), Answered)
    return Ran(clean, calls, ended)


def as_json_all(named: Any) -> dict[str, Any]:
    """Arguments by name, plainly."""
    return {name: as_json(value) for name, value in named.items()}


def _kind(place: Place) -> SourceKind:
    if any(each in FREE for each in place):
        return "free"
    return "given" if "who" in place else "system"


def _world(tool: str, given: str, words: int) -> Any:
    own, outsiders = random.Random(f"{tool}{given}"), random.Random(f"{words}{tool}{given}")
    if tool == "say":
        return {"id": own.randrange(5), "note": outsiders.choice(WORDS)}
    count = outsiders.randrange(4) if tool == "find" else own.randrange(1, 4)
    return [
        {
            "id": own.randrange(5),
            "name": own.choice(WORDS),
            # Whoever it is, it is nobody that the plan or the system knows of.
            "who": f"@{outsiders.choice(WORDS)}",
            "body": outsiders.choice(WORDS),
            "tags": [outsiders.choice(WORDS) for _ in range(outsiders.randrange(3))],
            "rows": [{"n": own.randrange(4), "note": outsiders.choice(WORDS)} for _ in range(2)],
        }
        for _ in range(count)
    ]


Kind = Literal["num", "text", "texts", "rec", "recs", "dict", "bool", "fun"]

FORMS: dict[Kind, tuple[str, ...]] = {
    "num": (
        "(<num> + <num>)",
        "len(<texts>)",
        "len(<text>)",
        "len(<recs>)",
        "len(<.dict>[<key>])",
        "<rec>.id",
        "sum([z.id for z in <recs> if <on>])",
        "max(<num>, <num>)",
        "<fun>(<num>)",
        "extract(<text>, int)",
        "<.texts>.count(<text>)",
        "len(set(<texts>))",
        "<rec>.rows[<0|1>].n",
        "(<num> if <bool> else <num>)",
    ),
    "text": (
        "(<text> + <text>)",
        "f'{n0}-{t0}-{len(a0):02d}'",
        "<rec>.<name|body|who>",
        "<text>.upper()",
        "','.join(<texts>)",
        "extract(<text>, str)",
        "str(<num>)",
        "<text>[<num>:]",
        "(<text> or <text>)",
        "(<text> and <text>)",
        "str(<.dict>)",
        "max(<texts>, key=lambda y: <y|len(y)>, default='z')",
        "(<text> if <bool> else <text>)",
    ),
    "texts": (
        "[<text>, <text>]",
        "[z.<name|body|who> for z in <recs>]",
        "[y for y in <texts> if y <==|!=|<> <text>]",
        "sorted(<texts>)",
        "(<texts> + <texts>)",
        "<rec>.tags",
        "list(<.dict>)",
        "<.dict>.get(<key>, [])",
        "<text>.split('a')",
        "list(<texts>)",
        "[y for w in <.dict>.values() for y in w]",
        "(<texts> if <bool> else <texts>)",
    ),
    "bool": (
        "<num> <==|>=|<> <num>",
        "<text> <==|!=|in> <text>",
        "<text> in <texts>",
        "not <texts>",
        "(<bool> and <bool>)",
        "(<bool> or <bool>)",
        "<rec>.<body|who> <==|!=> <text>",
        "<rec>.who in <texts>",
        "any([<on> for z in <recs>])",
        "0 <= <num> < <num>",
    ),
    "rec": (
        "max(<recs>, key=lambda z: z.<id|body|name|who>)",
        "<recs>[<0|-1>]",
        "<recs>[<num>]",
        "sorted(<recs>, key=lambda z: z.<id|body>)[0]",
        "(<rec> if <bool> else <rec>)",
    ),
    "recs": (
        "look(<num>)",
        "find(<text>)",
        "[z for z in <recs> if <on>]",
        "<recs>[<0|1>:]",
        "(<recs> if <bool> else <recs>)",
    ),
    "dict": (
        "{'k': <texts>, 'j': <texts>}",
        "{<text>: <texts>, 'k': [], 'j': []}",
        "{y: [y] for y in <texts> + ['k', 'j']}",
        "(<dict> if <bool> else <dict>)",
    ),
    "fun": (
        "(lambda q: q + <num>)",
        "(lambda q: <num>)",
        "((<.fun>) if <bool> else (<.fun>))",
        "(lambda q: <.texts>.append(<text>) or q)",
    ),
}
"""Expressions of each kind of value, with holes; ``Writer._filled`` says what goes into them."""

_HOLE = re.compile(r"<((?:\.?[a-z]+)|(?:[^<> ]+\|)+[^ ]+?)>(?=[^>]|$)")


Writing: TypeAlias = Callable[[], list[str]]


class Writer:
    """Writes a random plan. It keeps track of which names hold what, so that most plans run."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.names: dict[Kind, list[str]] = {}
        self.count = 0

    def plan(self) -> str:
        """The source of a plan."""
        lines = [
            "r0 = look(1)",
            "f0 = find('a')",
            "a0 = []",
            "d0 = {'k': [], 'j': ['ab']}",
            "n0 = 1",
            "t0 = 'ab'",
        ]
        self.names = {
            "recs": ["r0", "f0"],
            "texts": ["a0"],
            "dict": ["d0"],
            "num": ["n0"],
            "text": ["t0"],
        }
        for _ in range(self.dice.randrange(4, 11)):
            lines += self.statement(0, in_loop=False)
        lines += [f"say({self.expr('num', 2)}, {self.expr('text', 2)})"]
        lines += ["say(len(a0), len(d0['k']), n0, t0)"]
        return "\n".join(lines)

    def fresh(self, kind: Kind) -> str:
        """A name, new or known: what is known may be what others stand for, too."""
        known = self.names.setdefault(kind, [])
        if known and self.dice.random() < 0.5:
            return self.dice.choice(known)
        self.count += 1
        return f"v{self.count}"

    def known(self, kind: Kind, name: str) -> None:
        """From here on the name holds such a value."""
        for names in self.names.values():
            if name in names:
                names.remove(name)
        self.names.setdefault(kind, []).append(name)

    def inner(self, depth: int, *, in_loop: bool, least: int = 1) -> list[str]:
        """A block. What it names is not known after it."""
        before = {kind: list(names) for kind, names in self.names.items()}
        lines = [
            each
            for _ in range(self.dice.randrange(least, 4))
            for each in self.statement(depth, in_loop=in_loop)
        ]
        self.names = before
        return [f"    {line}" for line in lines or ["pass"]]

    def statement(self, depth: int, *, in_loop: bool) -> list[str]:
        """One statement, over one line or several."""
        kinds: list[tuple[int, Writing]] = [
            (6, self._assign),
            (2, self._alias),
            (4, self._change),
            (3, lambda: [f"say({self.expr(self.any(), 2)})"]),
            (1, lambda: [f"n0 += {self.expr('num', 1)}"]),
            (1, lambda: [f"t0 += {self.expr('text', 1)}"]),
        ]
        if depth < 3:
            kinds += [
                (4, lambda: self._if(depth, in_loop=in_loop)),
                (3, lambda: self._for(depth)),
                (2, lambda: self._def(depth)),
            ]
        if depth:
            kinds.append((1, lambda: [f"return {self.expr('num', 1)}"]))
        if in_loop:
            kinds.append((2, lambda: [self.dice.choice(["break", "continue"])]))
        weights = [weight for weight, _ in kinds]
        return self.dice.choices(kinds, weights)[0][1]()

    def any(self) -> Kind:
        """Some kind of value."""
        return self.dice.choice(("num", "text", "texts", "num", "text", "bool", "dict"))

    def _assign(self) -> list[str]:
        kind: Kind = self.dice.choice(
            ("num", "text", "texts", "rec", "recs", "dict", "fun", "num", "text")
        )
        value = self.expr(kind, 3)
        name = self.fresh(kind)
        self.known(kind, name)
        return [f"{name} = {value}"]

    def _alias(self) -> list[str]:
        kind: Kind = self.dice.choice(("texts", "dict", "recs", "fun"))
        if not self.names.get(kind):
            return self._assign()
        value = self.dice.choice(self.names[kind])
        if self.dice.random() < 0.4:
            value = f"({value} if {self.expr('bool', 1)} else {self.dice.choice(self.names[kind])})"
        name = self.fresh(kind)
        self.known(kind, name)
        return [f"{name} = {value}"]

    def _change(self) -> list[str]:
        place = self.name("texts") if self.dice.random() < 0.5 else f"{self.name('dict')}[{self.key()}]"
        if self.dice.random() < 0.2:
            place = f"({place} if {self.expr('bool', 1)} else {self.name('texts')})"
        options = [
            f"{place}.append({self.expr('text', 1)})",
            f"{place}.extend({self.expr('texts', 1)})",
            f"{place}.insert({self.expr('num', 1)}, {self.expr('text', 1)})",
            f"{self.name('dict')}[{self.key()}] = {self.expr('texts', 1)}",
            f"{self.name('dict')}[{self.key()}] += {self.expr('texts', 1)}",
            f"{self.name('dict')}.update({self.name('dict')})",
            f"{place}.append({self.expr('text', 1)})",
        ]
        return [self.dice.choice(options)]

    def _if(self, depth: int, *, in_loop: bool) -> list[str]:
        lines = [f"if {self.expr('bool', 2)}:", *self.inner(depth + 1, in_loop=in_loop)]
        if self.dice.random() < 0.5:
            lines += ["else:", *self.inner(depth + 1, in_loop=in_loop)]
        return lines

    def _for(self, depth: int) -> list[str]:
        before = {kind: list(names) for kind, names in self.names.items()}
        kind: Kind = self.dice.choice(("recs", "texts"))
        self.count += 1
        name = f"x{self.count}"
        head = f"for {name} in {self.expr(kind, 2)}:"
        self.known("rec" if kind == "recs" else "text", name)
        lines = [head, *self.inner(depth + 1, in_loop=True)]
        self.names = before
        return lines

    def _def(self, depth: int) -> list[str]:
        before = {kind: list(names) for kind, names in self.names.items()}
        self.count += 1
        name, argument = f"g{self.count}", f"p{self.count}"
        self.known("num", argument)
        lines = [f"def {name}({argument}=1):", *self.inner(depth + 1, in_loop=False)]
        lines += [f"    return {self.expr('num', 2)}"]
        self.names = before
        self.known("fun", name)
        return lines

    def name(self, kind: Kind) -> str:
        """A name that holds such a value, or such a value."""
        known = self.names.get(kind)
        return self.dice.choice(known) if known else self.plain(kind)

    def key(self) -> str:
        """A key of a dict."""
        return self.dice.choice(["'k'", "'j'", "'k'", self.expr("text", 1)])

    def plain(self, kind: Kind) -> str:
        """A value as it is written."""
        match kind:
            case "num":
                return str(self.dice.randrange(4))
            case "text":
                return repr(self.dice.choice(WORDS))
            case "texts":
                return self.dice.choice(["[]", "['ab', 'c']"])
            case "dict":
                return "{'k': ['a'], 'j': []}"
            case "bool":
                return self.dice.choice(["True", "False"])
            case "rec":
                return "look(2)[0]"
            case "recs":
                return self.dice.choice(["look(1)", "look(3)", "find('b')"])
            case "fun":
                return f"(lambda q: {self.expr('num', 1)})"

    def expr(self, kind: Kind, depth: int) -> str:
        """An expression of such a value."""
        if depth <= 0 or self.dice.random() < 0.2:
            return self.name(kind)
        form = self.dice.choice(FORMS[kind])
        return _HOLE.sub(lambda hole: self._filled(hole[1], depth - 1), form)

    def _filled(self, hole: str, depth: int) -> str:
        """``num``: an expression; ``.num``: a name; ``a|b``: one of these; ``key``; ``on``."""
        if "|" in hole:
            return self.dice.choice(hole.split("|"))
        if hole == "key":
            return self.key()
        if hole == "on":
            field = self.dice.choice(["body", "name", "id", "who"])
            value = self.name("num" if field == "id" else "text")
            return f"z.{field} {self.dice.choice(['<', '==', '!='])} {value}"
        if hole.startswith("."):
            return self.name(hole[1:])  # type: ignore[arg-type]
        return self.expr(hole, depth)  # type: ignore[arg-type]


class Tally(NamedTuple):
    """What some plans showed."""

    plans: int
    ended: int
    """Plans that came to their end in both runs."""
    calls: int
    clean: int
    leaks: list[str]
    """The sources of plans whose clean calls differ."""


def tally(plans: int, seed: int = 0) -> Tally:
    """Write so many plans and run each twice."""
    ended = calls = clean = 0
    leaks: list[str] = []
    for number in range(seed, seed + plans):
        source = Writer(number).plan()
        tree = parse(source)
        one, other = run(tree, 1), run(tree, 2)
        both = one.ended and other.ended
        ended += both
        calls += one.calls
        clean += len(one.clean)
        shorter = min(len(one.clean), len(other.clean))
        same = one.clean[:shorter] == other.clean[:shorter]
        if not same or (both and len(one.clean) != len(other.clean)):
            leaks.append(f"# plan {number}\n{source}")
    return Tally(plans, ended, calls, clean, leaks)


def main() -> int:
    """Print what was found."""
    plans = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began = time.perf_counter()
    found = tally(plans, seed)
    seconds = time.perf_counter() - began
    print(f"{found.plans:,} plans in {seconds:.0f} s, {found.ended:,} ended in both runs")
    print(f"{found.calls:,} calls, {found.clean:,} of them clean; {len(found.leaks)} plans leak")
    for source in found.leaks[:3]:
        print(f"\n{source}")
    return 1 if found.leaks else 0


if __name__ == "__main__":
    sys.exit(main())

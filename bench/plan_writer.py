"""Writes random plans for ``plan_leaks.py``: every construct of the language, and effects in odd places.

Callbacks of ``sorted``, ``max`` and comprehensions change lists and call tools. Functions are nested,
call themselves, return early, and share what is around them. There is no ``while``, ``try`` or ``*``.
"""

import random
import re
from collections.abc import Callable
from typing import Literal, TypeAlias

WORDS = ("ab", "ba", "abc", "c", "", "aa", "cab")


Kind = Literal["num", "text", "texts", "rec", "recs", "dict", "bool", "fun", "key"]

FORMS: dict[Kind, tuple[str, ...]] = {
    "num": (
        "(<num> + <num>)",
        "len(<texts>)",
        "len(<text>)",
        "len(<recs>)",
        "len(<.dict>[<at>])",
        "<rec>.id",
        "sum([z.id for z in <recs> if <on>])",
        "max(<num>, <num>)",
        "<fun>(<num>)",
        "extract(<text>, int)",
        "<.texts>.count(<text>)",
        "len(set(<texts>))",
        "<rec>.rows[<0|1>].n",
        "<key>(<text>)",
        "sum(<key>(y) for y in <texts>)",
        "sum([<key>(y) for y in <texts> if y <==|!=> <text>])",
        "len({(y, 1) for y in <texts> + ['ab']})",
        "len({<text>: 1, <text>: 2})",
        "(<num> if <bool> else <num>)",
    ),
    "text": (
        "(<text> + <text>)",
        "f'{n0}-{t0}-{len(a0):02d}'",
        'f"{<.key>(t0)}-{<.fun>(n0)!r}"',
        "<rec>.<name|body|who>",
        "<text>.upper()",
        "','.join(<texts>)",
        "extract(<text>, str)",
        "str(<num>)",
        "<text>[<num>:]",
        "<text>[<num>:<num>]",
        "<max|min>(<texts>, key=<key>, default='z')",
        "<max|min>(<texts> + ['ab'], key=<key>)",
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
        "<.dict>.get(<at>, [])",
        "<text>.split('a')",
        "list(<texts>)",
        "sorted(<texts>, key=<key>)",
        "sorted(<text>.split('a'), key=<key>, reverse=<bool>)",
        "list(set(<texts>))",
        "[y for y in <texts> if <key>(y) < <num>]",
        "[y for y, _ in {y: 1 for y in <texts>}.items()]",
        "<texts>[<num>:<num>]",
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
        "0 <= <num> < <key>(<text>) < <key>(<text>)",
        "<any|all>(<key>(y) for y in <texts>)",
        "(<bool> and <key>(<text>) > 0)",
        "(<bool> or <key>(<text>) > 0)",
        "(<text>, 1) in {(<text>, 1): <num>}",
        "(<text>, 1) in {(<text>, 1), ('ab', 1)}",
    ),
    "rec": (
        "max(<recs>, key=lambda z: z.<id|body|name|who>)",
        "<recs>[<0|-1>]",
        "<recs>[<num>]",
        "sorted(<recs>, key=lambda z: z.<id|body>)[0]",
        "(<rec> if <bool> else <rec>)",
        "<max|min>(<recs>, key=<key>)",
        "sorted(<recs>, key=<key>)[0]",
    ),
    "recs": (
        "look(<num>)",
        "find(<text>)",
        "[z for z in <recs> if <on>]",
        "<recs>[<0|1>:]",
        "<recs>[:<num>]",
        "sorted(<recs>, key=<key>)",
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
    "key": (
        "(lambda q: <num>)",
        "(lambda q: len(str(q)))",
        "(lambda q: <.texts>.append(<text>) or <num>)",
        "(lambda q: <.texts>.append('x') or 0)",
        "(lambda q: len(<.dict>.update({'k': ['x']}) or 'x'))",
        "(lambda q: say(<num>).id)",
        "(lambda q, w=<.texts>: w.append('x') or len(w))",
        "((<.key>) if <bool> else (<.key>))",
        "(lambda q: <.key>(q))",
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
        self.around: frozenset[str] = frozenset()
        """The names of the frames around the function that is being written: it does not assign them."""

    def plan(self) -> str:
        """The source of a plan."""
        lines = [
            "r0 = look(1)",
            "f0 = find('a')",
            "a0 = []",
            "d0 = {'k': [], 'j': ['ab']}",
            "n0 = 1",
            "t0 = 'ab'",
            "b0 = r0[0].body.split('a')",
            "u0 = r0[0].body",
            "g0 = lambda q: q + 1",
            "h0 = lambda q: len(str(q))",
        ]
        self.names = {
            "recs": ["r0", "f0"],
            "texts": ["a0", "b0"],
            "dict": ["d0"],
            "num": ["n0"],
            "text": ["t0", "u0"],
            "fun": ["g0"],
            "key": ["h0"],
        }
        for _ in range(self.dice.randrange(4, 11)):
            lines += self.statement(0, in_loop=False)
        lines += [f"say({self.expr('num', 2)}, {self.expr('text', 2)})"]
        lines += [f"say({self.name('fun')}(n0), {self.name('key')}(t0))"]
        lines += [f"sorted({self.expr('texts', 1)}, key={self.name('key')})"]
        lines += ["say(len(a0), len(b0), len(d0['k']), n0, t0)"]
        return "\n".join(lines)

    def fresh(self, kind: Kind) -> str:
        """A name, new or known: what is known may be what others stand for, too."""
        known = [each for each in self.names.get(kind, ()) if each not in self.around]
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
            (1, self._unpack),
            (1, lambda: [self.expr("num", 2)]),
            (1, lambda: [f"sorted({self.expr('texts', 2)}, key={self.expr('key', 1)})"]),
            (4, self._change),
            (3, lambda: [f"say({self.expr(self.any(), 2)})"]),
        ]
        if not self.around:
            kinds += [
                (1, lambda: [f"n0 += {self.expr('num', 1)}"]),
                (1, lambda: [f"t0 += {self.expr('text', 1)}"]),
            ]
        if depth < 3:
            kinds += [
                (4, lambda: self._if(depth, in_loop=in_loop)),
                (3, lambda: self._for(depth)),
                (2, lambda: self._def(depth)),
                (2, lambda: self._callback(depth)),
                (1, lambda: self._recursion(depth)),
                (1, lambda: self._for_pairs(depth)),
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
            ("num", "text", "texts", "rec", "recs", "dict", "fun", "key", "num", "text")
        )
        value = self.expr(kind, 3)
        name = self.fresh(kind)
        self.known(kind, name)
        return [f"{name} = {value}"]

    def _alias(self) -> list[str]:
        kind: Kind = self.dice.choice(("texts", "dict", "recs", "fun", "key"))
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
        """A function of a number."""
        self.count += 1
        name, argument = f"g{self.count}", f"p{self.count}"
        lines = self._body(depth, ("num", argument))
        return self._defined("fun", name, [f"def {name}({argument}=1):", *lines])

    def _callback(self, depth: int) -> list[str]:
        """A function of anything, for ``key=`` and for what goes through a list."""
        self.count += 1
        name, kept = f"h{self.count}", f"w{self.count}"
        head = f"def {name}(q, {kept}={self.name('texts')}):"
        return self._defined("key", name, [head, *self._body(depth, ("texts", kept))])

    def _recursion(self, depth: int) -> list[str]:
        """A function of a number that calls itself."""
        self.count += 1
        name, left = f"c{self.count}", f"p{self.count}"
        end = self.dice.choice([f"{left} > 2", f"{left} > 2 or {self.expr('bool', 1)}"])
        lines = [f"def {name}({left}=0):", f"    if {end}:", f"        return {self.expr('num', 1)}"]
        lines += [*self._body(depth, ("num", left))[:-1], f"    return {name}({left} + 1)"]
        return self._defined("fun", name, lines)

    def _body(self, depth: int, argument: tuple[Kind, str]) -> list[str]:
        """The body of a function. It assigns no name of the frames around it: they would be unset."""
        before, around = {kind: list(names) for kind, names in self.names.items()}, self.around
        self.around = frozenset(each for names in before.values() for each in names)
        self.known(*argument)
        lines = [*self.inner(depth + 1, in_loop=False), f"    return {self.expr('num', 2)}"]
        self.names, self.around = before, around
        return lines

    def _defined(self, kind: Kind, name: str, lines: list[str]) -> list[str]:
        self.known(kind, name)
        return lines

    def _unpack(self) -> list[str]:
        one, other = self.fresh("text"), self.fresh("text")
        pair = self.dice.choice(
            [
                f"{self.expr('text', 1)}, {self.expr('text', 1)}",
                f"[{self.expr('text', 1)}, {self.expr('text', 1)}]",
                f"({self.expr('texts', 1)} + ['x', 'y'])[:2]",
            ]
        )
        self.known("text", one)
        self.known("text", other)
        return [f"{one}, {other} = {pair}"]

    def _for_pairs(self, depth: int) -> list[str]:
        before = {kind: list(names) for kind, names in self.names.items()}
        self.count += 1
        at, name = f"i{self.count}", f"x{self.count}"
        pairs = self.dice.choice(
            [f"enumerate({self.expr('texts', 1)})", f"zip(range(3), {self.expr('texts', 1)})"]
        )
        self.known("num", at)
        self.known("text", name)
        lines = [f"for {at}, {name} in {pairs}:", *self.inner(depth + 1, in_loop=True)]
        self.names = before
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
            case "fun" | "key":
                return f"(lambda q: {self.expr('num', 1)})"

    def expr(self, kind: Kind, depth: int) -> str:
        """An expression of such a value."""
        if depth <= 0 or self.dice.random() < 0.2:
            return self.name(kind)
        form = self.dice.choice(FORMS[kind])
        return _HOLE.sub(lambda hole: self._filled(hole[1], depth - 1), form)

    def _filled(self, hole: str, depth: int) -> str:
        """``num``: an expression; ``.num``: a name; ``a|b``: one of these; ``at``; ``on``."""
        if "|" in hole:
            return self.dice.choice(hole.split("|"))
        if hole == "at":
            return self.key()
        if hole == "on":
            field = self.dice.choice(["body", "name", "id", "who"])
            value = self.name("num" if field == "id" else "text")
            return f"z.{field} {self.dice.choice(['<', '==', '!='])} {value}"
        if hole.startswith("."):
            return self.name(hole[1:])  # type: ignore[arg-type]
        return self.expr(hole, depth)  # type: ignore[arg-type]

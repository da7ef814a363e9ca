"""What a dangerous call does to a record, and whether a person asked for that act.

A person who wants an order changed has named the order, but has not asked to cancel it. Only acts that
undo or alter something existing are distinguished; of any other tool, its own verb must have been used.
"""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct

from rightcall.core.facts import Danger
from rightcall.trust.words.kinds import words_of
from rightcall.trust.words.said import named_words
from rightcall.trust.words.verbs import READS, REMOVES, SPENDS

_WHOLE = named_words("pay wipe renew")
"""Verbs that lose no letter in their forms, or would be mistaken for others without it."""


def _stem(verb: str) -> str:
    return verb[:-1] if verb[-1] in "ey" and verb not in _WHOLE else verb


_ACTS: tuple[tuple[str, ...], ...] = (
    tuple(map(_stem, REMOVES)),
    ("return", "refund", "reimburs"),
    (
        *("exchang", "swap", "replac", "substitut", "chang", "modif", "updat", "switch", "edit"),
        *("alter", "adjust", "correct", "upgrad", "downgrad", "add", "mov", "push", "set", "fix"),
        *("convert", "resched", "postpone", "delay", "rather", "instead", "reduc", "rais", "extend"),
        *("remov", "cancel", "mak"),
    ),
)
"""Stems of verbs, grouped by act. A removal is also a change, so some stems are in both."""
_GIVING = (
    *("send", "giv", "issu", "grant", "award", "provid", "offer", "compensat", "reimburs", "refund"),
    *("credit", "creat", "mak", "invoic", "bill", "charg", "donat"),
)
_MONEY = named_words("money payment payments funds cash transfer transfers")


_ENDINGS = named_words("e y ie ing ling ping ting ying ule uling") | {""}
"""Endings of a verb in a form that asks for an act."""
_APART = (_ACTS[0][:6], _ACTS[1], (*_ACTS[2][:8], "upgrad", "downgrad"), ("keep", "book"))
"""Stems that start a new part of a sentence. The other stems have other meanings, too."""
_NO_VERB = READS | named_words(
    "do bulk mass batch multi auto quick this that it its the a an use used call calls tool lets let "
    "allow allows will can may make perform for to if when with all one my your"
)
"""Words at the start of a tool's name or docs that are not its verb, or ask only to look."""
_NOBODY_SAYS = ("\0",)
"""The stems of an act whose verb is not known: nobody can ask for it."""
_DONE = named_words("d ed ied led ped ted")
"""Endings of a verb in the form that says that something was done."""
_LONGEST_DOCS = 80
UNDOING = (0, 1)
"""The sorts of acts that undo something."""


class Act(Struct, frozen=True):
    """What a tool does to a record, by the words that ask for it."""

    stems: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """The words that the tool's author knows for it, as patterns."""

    def __bool__(self) -> bool:
        """Whether any word is known for it."""
        return bool(self.stems or self.own)

    @property
    def undoes(self) -> bool:
        """Whether it undoes something, so that the words for its object must be beside the verb."""
        return self.stems[: len(_ACTS[0])] == _ACTS[0] or self.stems == _ACTS[1]

    @property
    def is_listed(self) -> bool:
        """Whether the lists know what it does; if not, only its own verb is known."""
        return self.gives or self.stems in _ACTS

    @property
    def gives(self) -> bool:
        """Whether it gives something away, so that the amount must have been named."""
        return self.stems == _GIVING

    def is_asked(self, said: Iterable[str]) -> bool:
        """Whether one of the words asks for it."""
        return is_asked(self.stems, said) or any(
            fnmatchcase(word, each) for word in said for each in self.own
        )


@lru_cache(4096)
def act_of(tool: str) -> Act:
    """The act in a tool's name, with the stems of the words that ask for it, if its name has one."""
    first, *rest = words_of(tool) or ("",)
    if any(map(first.startswith, _GIVING[:5])):
        # A transfer goes to a target that the user names; giving anything else must have been asked for.
        return Act(_GIVING if _MONEY.isdisjoint(rest) else ())
    found = tuple(stem for group in _ACTS if any(map(first.startswith, _verbs(group))) for stem in group)
    return Act(found or (_ACTS[0] if any(_is_removal(word) for word in rest) else ()))


def own_act(tool: str, docs: str, nouns: Collection[str], dangers: Collection[Danger]) -> Act:
    """The act of a dangerous tool, where no list knows the verb in its name.

    The tool's own name and docs supply the verb. ``nouns`` are those of its targets, which are no verbs.
    """
    name = [word for word in words_of(tool) if word.removesuffix("s") not in nouns]
    told = [word.removesuffix("s") for word in words_of(docs[:_LONGEST_DOCS])[:1]]
    verbs = [*[each for each in name if each not in _NO_VERB][:1], *told]
    own = tuple(_stem(each) for each in verbs if each not in _NO_VERB and each not in nouns)
    if "deletes" in dangers:
        return Act((*_ACTS[0], *own))
    spends = [group for group in SPENDS if not set(verbs).isdisjoint(group)] or SPENDS[:1]
    general = [each for group in spends for each in group] if "money" in dangers else []
    return Act((*(_stem(each) for each in general if each not in nouns), *own) or _NOBODY_SAYS)


def _verbs(group: tuple[str, ...]) -> tuple[str, ...]:
    """The stems of a group that may begin a tool's name: the others ask for it, in a person's words."""
    return group if group is _ACTS[0] else group[:14]


def _is_removal(word: str) -> bool:
    return any(word.removeprefix(stem) in ("", "e", "s", "es") for stem in _ACTS[0] if stem in word)


def is_asked(stems: tuple[str, ...], said: Iterable[str]) -> bool:
    """Whether one of the words asks for an act. A past form asks for nothing."""
    return any(word.removeprefix(stem) in _ENDINGS for word in said for stem in stems if stem in word)


@lru_cache(8192)
def sort_of(word: str) -> int | None:
    """The index of the sort of act that a word asks for, if the word starts a new part of a sentence."""
    return next((at for at, group in enumerate(_APART) if is_asked(group, (word,))), None)


@lru_cache(8192)
def stem_of_done(word: str) -> str:
    """The stem of the verb in a word for what was done: ``cancelled``. Empty for any other word."""
    found = (each for group in _APART for each in group if word.startswith(each))
    return next((each for each in found if word.removeprefix(each) in _DONE), "")

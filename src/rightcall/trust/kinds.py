"""Guesses from names, formats and values: of which kind, in which role, whose identity.

Only used where a tool's author stated nothing. It must not know about runs.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from rightcall.core.facts import Kind


def named_words(words: str) -> frozenset[str]:
    """The words of a list that is written as one text, separated by spaces."""
    return frozenset(words.split())


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_KINDS: Mapping[Kind, str] = {
    "address": "to cc bcc email emails mail mails recipient recipients sender participant participants "
    "attendee attendees invitee invitees owner author contact phone tel telephone mobile",
    "account": "iban bic account accounts card payee payer",
    "web": "url urls uri link links href website webpage site host hostname domain endpoint",
    "path": "path paths file files filename filenames folder directory dir",
    "record": "id ids uuid guid",
    "person": "user users username person people member members employee",
    "channel": "channel channels room",
    "amount": "amount amounts price prices total sum cost costs fee fees quantity compensation goodwill "
    "reimbursement payout",
    "date": "date dates day days time datetime timestamp deadline due start end until",
    "free": "name title label subject",
}
_BY_WORD: dict[str, Kind] = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_CURRENCIES = named_words("eur usd gbp chf jpy euro euros dollar dollars pounds cents money")
_BY_FORMAT: Mapping[str, Kind] = {
    "email": "address",
    "idn-email": "address",
    "uri": "web",
    "url": "web",
    "iri": "web",
    "hostname": "web",
    "ipv4": "web",
    "ipv6": "web",
    "uuid": "record",
    "date": "date",
    "time": "date",
    "date-time": "date",
    "path": "path",
    "file-path": "path",
}
_IDENTITY = named_words(
    "sender senders from cc bcc to recipient recipients participant participants attendee attendees "
    "invitee invitees organizer organiser owner owners author authors payer creator poster requester "
    "commenter contributor contributors reviewer reporter assignee submitter inviter initiator "
    "counterparty remitter debtor guest guests uploader applicant visitor absender mailfrom "
    "handle handles beneficiary correspondent subscriber subscribers nick nickname originator via "
    "mentions watchers watcher behalf editor"
)
_CONTACT = named_words(
    "email emails mail phone tel telephone mobile msisdn contact customer client actor caller speaker "
    "who whom by login persona signature signatory signed merchant"
)
_IDENTITY_ENDS = (("reply", "to"), ("shared", "with"), ("counter", "party"), ("display", "name"))
_BY = "by"
_SOURCE = named_words("from source src origin sender payer debit")
_SEARCHED = named_words(
    "query q search term terms keyword keywords text words subject title body content contains phrase"
)
_ACCESS = named_words("visibility access permission permissions role roles sharing privacy")
_MULTIPLIERS = named_words("times repeats repetitions installments instalments occurrences copies")
_REPETITIONS = named_words("recurring recurrence frequency interval cadence repeat")
_UNITS = named_words("currency unit units asset coin token denomination")
_FLAGS = named_words("public publicly everyone everybody anyone anybody world external admin superuser")
_WIDENING = named_words(
    "public everyone everybody anyone anybody world all internet external admin administrator owner "
    "write writer edit editor rw readwrite full root superuser maintainer domain organization"
)
_WIDER = named_words(
    "all everything everywhere every entire whole recursive recursively force forced full global hard "
    "permanent permanently cascade"
)


@lru_cache(4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words that a name is made of: ``fromAccount`` and ``from_account`` are the same two."""
    return tuple(word.lower() for word in _WORD.findall(name))


@lru_cache(4096)
def kind_of_name(name: str) -> Kind | None:
    """The kind that the name of a parameter or a field shows."""
    words = words_of(name)
    if not words:
        return None
    last, first = _BY_WORD.get(words[-1]), _BY_WORD.get(words[0])
    if words[0] == "total" and words[-1] not in _CURRENCIES:
        # How many there are of something in all: ``total_bags``.
        first = None
    # ``channel_name`` names a channel, and ``owner_account`` an account.
    return first if last in (None, "free") and first is not None and len(words) > 1 else last


def kind_of(name: str, schema: Any) -> Kind | None:
    """The kind of a parameter, by the format in its schema, or else by its name."""
    for each in _inside(schema):
        if (kind := _BY_FORMAT.get(str(each.get("format")))) is not None:
            return kind
    return kind_of_name(name)


def _inside(schema: Any) -> Iterable[Mapping[str, Any]]:
    """A schema, the schema of its items, and its alternatives."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for each in (schema.get("items"), *(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())):
        if isinstance(each, Mapping):
            yield each
            if isinstance(items := each.get("items"), Mapping):
                yield items


@lru_cache(4096)
def is_identity(name: str) -> bool:
    """Whether a field of this name says who got in touch."""
    words = words_of(name)
    return (
        not _IDENTITY.isdisjoint(words)
        or words[-2:] in _IDENTITY_ENDS
        or (len(words) > 1 and words[-1] == _BY)
    )


@lru_cache(4096)
def is_contact(name: str) -> bool:
    """Whether a field of this name says how to reach a person, who may have filled it in."""
    return not _CONTACT.isdisjoint(words_of(name)[-1:])


@lru_cache(4096)
def is_source(name: str) -> bool:
    """Whether a parameter of this name says from where something is taken."""
    return not _SOURCE.isdisjoint(words_of(name))


@lru_cache(4096)
def is_searched(name: str) -> bool:
    """Whether a parameter of this name is looked for in what others wrote."""
    return not _SEARCHED.isdisjoint(words_of(name)[-1:])


@lru_cache(4096)
def gives_access(name: str) -> bool:
    """Whether a parameter of this name controls access."""
    return not _ACCESS.isdisjoint(words_of(name))


def is_widening_flag(name: str) -> bool:
    """Whether a flag of this name, when it is set, gives others more access."""
    return not _FLAGS.isdisjoint(words_of(name))


def is_multiplier(name: str) -> bool:
    """Whether a parameter of this name says how often an amount is paid, as a number."""
    return not _MULTIPLIERS.isdisjoint(words_of(name)[-1:])


def is_repetition(name: str) -> bool:
    """Whether a parameter of this name says how often something is repeated, in words."""
    return not _REPETITIONS.isdisjoint(words_of(name)[-1:])


def is_unit(name: str) -> bool:
    """Whether a parameter of this name says what an amount is counted in."""
    return not _UNITS.isdisjoint(words_of(name)[-1:])


def is_widening(choice: str) -> bool:
    """Whether a choice's name shows that it gives others more access."""
    return not _WIDENING.isdisjoint(words_of(choice))


def is_wider(choice: str) -> bool:
    """Whether a choice's name shows that a dangerous call does more with it."""
    return not _WIDER.isdisjoint(words_of(choice))

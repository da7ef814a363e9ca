"""Text into tokens that are the same however it was written: case, quotes, spacing, forms of an address.

An address (a link, an e-mail address, a host) is one token, whole: ``my-bank.com`` and ``my.bank.com``
belong to different people. So is a path. Other text is words, and punctuation between them does not
count, but for what could be a wildcard.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Literal, TypeAlias
from urllib.parse import unquote

from rightcall.trust import dates

Kind: TypeAlias = Literal["link", "mail", "host", "date", "word"]

# Browsers take these for dots.
_DOTS = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61", "."))
_END = r"[^\s\"'<>`|\\^{}]"
_SYLLABLE = "\\u3040-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7af\\uf900-\\ufaff"
"""Scripts that leave no space between words; each character is a token."""
_NUMBERED = re.compile(r"(^|\n[ \t]*|[.:;!?][ \t]+)\(?\d{1,2}[.)](?=\s)")
_RUN_ON = re.compile(r"(?<=[a-z])\.(?=[A-Z][a-z]+\b)")
_DECIMAL = re.compile(r"\d+\.\d+")
_SCHEME = re.compile(r"(?:https?:)?//(?:www\.)?|mailto:|www\.", re.IGNORECASE)
_AUTHORITY = re.compile(r"[^/?#]*")
_STEP = re.compile(r"[/?#]")
_MOST_PARENTS = 16
# Numbers that people write in groups: telephones, accounts, cards.
_GROUPED = re.compile(
    r"(?<![\w.])(?:\+?\(?\d[\d\s().-]{5,40}\d"
    r"|[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,8}(?:[ -]?[a-z0-9]{1,4})?)(?!\w)",
    re.IGNORECASE,
)
_GAPS = re.compile(r"[\s().+-]+")
# Endings that programs turn into links by themselves. Two letters are a country.
_ENDING = re.compile(
    r"""[a-z]{2}|\d+|com|org|net|edu|gov|mil|int|info|biz|name|mobi|online|site|website|shop|store|app|dev
    |page|blog|cloud|tech|live|link|click|xyz|top|club|fun|icu|vip|work|news|media|agency|digital|email
    |group|network|systems|services|solutions|support|world|space|host|press|pro|zip|mov|arpa|onion
    |local|xn--.*""",
    re.VERBOSE,
)


def plain(text: str) -> str:
    """``text`` in one spelling of its characters, without those that nobody sees."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text).translate(_DOTS)
    return "".join([each for each in text if unicodedata.category(each) != "Cf"])


@cache
def _token() -> re.Pattern[str]:
    """Made when it is first needed: compiling it takes as long as importing much of the rest."""
    return re.compile(
        # Nearly every token is a plain word; one that could begin a date or an address is not.
        rf"""(?P<plain>(?!{dates.MONTH}\s+\d)[a-z]+(?![^\s,;!?)]))
    |(?P<link>(?:[a-z][a-z0-9+.-]*:)?//{_END}+
        |(?:mailto|tel|sms|data|javascript|vbscript|file):{_END}+|www\.{_END}+)
    |(?P<mail>\w[\w.+%-]*@[\w-]+(?:\.[\w-]+)*)
    |(?P<date>{dates.PATTERN})
    |(?P<host>(?:\w[\w-]*\.)+(?:[a-z][a-z0-9]+|xn--[a-z0-9-]+)(?![\w@])(?::\d+)?(?:[/?#]{_END}*)?
        |(?<![\w.])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?![\w.])(?:[:/]{_END}*)?)
    |(?P<path>(?<![\w.~-])(?:[\w.~-]*+[/\\])++[\w.~*-]*)
    |(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\w))
    |(?P<word>[{_SYLLABLE}]|\.{{2,}}|[*~%]+|\d+(?::\d+)+
        |[^\W{_SYLLABLE}]+(?:[-_.+%~]+[^\W{_SYLLABLE}]+)*)""",
        re.VERBOSE | re.IGNORECASE,
    )


def scan(text: str) -> Iterator[tuple[Kind, str]]:
    """The tokens of a text, each with what it is. The text must be plain."""
    for found in _token().finditer(text):
        token, kind = found[0], found.lastgroup
        match kind:
            case "link" | "mail" | "host":
                yield kind, canonical(token)
            case "date":
                yield "date", dates.spelled(token)
            case "path":
                yield "word", _place(token)
            case "number":
                yield "word", number(token.replace(",", ""))
            case "plain":
                yield "word", token.lower()
            case _:
                word = token.casefold()
                yield "word", number(word) if _DECIMAL.fullmatch(word) else word


def unnumbered(text: str) -> str:
    """``text`` without the numbers before the points of a list: they name nothing."""
    return _NUMBERED.sub(r"\1", text)


def apart(text: str) -> str:
    """``text`` with a space after sentences that were written without: ``example.com.They said``."""
    return _RUN_ON.sub(". ", text)


def tokens(text: str) -> list[str]:
    """The tokens of a text, in order."""
    return [token for _, token in scan(plain(text))]


def loose(text: str) -> Iterator[str]:
    """The tokens of a text, for which it does not matter what stands beside what."""
    for chunk in plain(text).split():
        if chunk.isalpha() and chunk.isascii():
            yield chunk.lower()
        else:
            yield from (token for _, token in scan(chunk))


def canonical(address: str) -> str:
    """An address in the one form that all its spellings share. A link's path keeps its case."""
    address = _without_punctuation(address)
    if scheme := _SCHEME.match(address):
        address = address[scheme.end() :]
    authority = _AUTHORITY.match(address)
    end = authority.end() if authority else 0
    # What is encoded in the authority stays so: decoded, it could pass for the end of it.
    return address[:end].casefold() + unquote(address[end:]).rstrip("/")


def _without_punctuation(address: str) -> str:
    """An address without what ends the sentence around it; dots after a slash or a dot are its own."""
    end = len(address)
    while end and (address[end - 1] in ",;:!?)]*_" or _is_full_stop(address, end - 1)):
        end -= 1
    return address[:end]


def _is_full_stop(text: str, at: int) -> bool:
    return text[at] == "." and at > 0 and text[at - 1] not in "./"


def _place(path: str) -> str:
    """A path in one spelling. Where it begins counts: ``~/x``, ``/x`` and ``x`` are three places."""
    path = path.replace("\\", "/").casefold()
    path = path[:-1] if _is_full_stop(path, len(path) - 1) else path
    return (path.rstrip("/") or "/").removeprefix("./")


def number(text: str) -> str:
    """A decimal number without what does not count: 1000.00 is 1000."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def parents(address: str) -> Iterator[str]:
    """The places above a link's own: whoever names a page names its site."""
    cuts = [found.start() for found in _STEP.finditer(address)]
    for cut in cuts[:_MOST_PARENTS]:
        yield address[:cut].rstrip("/")


def grouped(text: str) -> Iterator[str]:
    """Numbers that are written in groups, without the gaps."""
    for found in _GROUPED.finditer(text):
        yield _GAPS.sub("", found[0]).casefold()


def active(text: str) -> Iterator[str]:
    """What in a text leads somewhere when it is clicked, fetched or written to."""
    # No address holds a space, and most words hold nothing that an address must.
    chunks = [chunk for chunk in plain(text).split() if not chunk.isalpha()]
    for kind, token in (found for chunk in chunks for found in scan(chunk)):
        if kind in ("link", "mail") or (kind == "host" and _is_host(token)):
            yield token


def _is_host(token: str) -> bool:
    authority = _AUTHORITY.match(token)
    host = authority[0].partition(":")[0] if authority else ""
    return len(host) < len(token) or _ENDING.fullmatch(host.rpartition(".")[2]) is not None

"""Splits text into tokens that do not depend on spelling: case, quotes, spacing, forms of an address.

An address (a link, an e-mail address, a host) is a single token: ``my-bank.com`` and ``my.bank.com``
belong to different people. So is a path, and so is a date. Other text is split into words, and
punctuation between them is ignored, except for what could be a wildcard.

An operator's patterns, such as ``*@example.com`` or ``api.example.com/*``, are compared in that
spelling. A star matches no spaces, and before a link's path no slash and no at sign, so that no pattern
matches another owner's address that merely contains what the operator wrote.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Literal, TypeAlias
from urllib.parse import unquote

from rightcall.core.facts import Kind
from rightcall.trust.characters import SYLLABLE, SYLLABLES, plain
from rightcall.trust.dates import DATE, MONTH, may_hold_date, spelled

Token: TypeAlias = Literal["link", "mail", "host", "date", "word"]

_END = r"[^\s\"'<>`|\\^{}]"
_ITEM = re.compile(r"[\n.:;!?][ \t]*\(?\d")
_NUMBERED = re.compile(r"(^|\n[ \t]*|[.:;!?][ \t]+)\(?\d{1,2}[.)](?=\s)")
_BULLET = re.compile(r"(^|\n)[ \t]*\*[ \t]+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]+)(?<=\S)\1(?=[\s,;:!?)]|\.?(?:\s|$))")
_RUN_ON = re.compile(r"\.(?<=[a-z]\.)(?=[A-Z][a-z]+\b)")
_DECIMAL = re.compile(r"\d+\.\d+")
_SCHEME = re.compile(r"(?:https?:[/\\]*|//)(?:www\.)?|mailto:|www\.", re.IGNORECASE)
_PUNYCODE = re.compile(r"xn--([a-z0-9-]+)")
_AUTHORITY = re.compile(r"[^/?#]*")
_STEP = re.compile(r"[/?#]")
_MOST_PARENTS = 16
# Numbers that people write in groups: telephones, accounts, cards.
GROUPED = re.compile(
    r"(?<![\w.])(?:\+?\(?\d[\d\s().-]{5,40}\d"
    r"|[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,8}(?:[ -]?[a-z0-9]{1,4})?"
    r"|[a-z]{2}\d{2}(?:[./_]\d{4}){2,8}(?:[./_]\d{1,4})?"
    r"|(?=[a-z]{2}\d{2}(?:[^\d\n]{0,8}\d){8})"
    r"[a-z]{2}\d{2}(?:[./_,|:] ?[a-z0-9]{4}){2,8}(?:[./_,|:] ?[a-z0-9]{1,4})?)(?!\w)",
    re.IGNORECASE,
)
_HAS_DIGIT = re.compile(r"\d")
_BLOCK = 8_192
_SEAM = re.compile(r"\n|(?<=[^\W\d]) (?=[^\W\d])")
"""Where no number or day goes on."""
GAPS = re.compile(r"[\s()./_,|:+-]+")
# Endings of files that are no domains. Every other ending may be one by tomorrow.
_FILE = re.compile(
    r"""txt|pdf|docx?|xlsx?|pptx?|od[tsp]|csv|tsv|jsonl?|xml|ya?ml|toml|ini|cfg|conf|log|rtf|tex|html?|css
    |jsx|tsx|ipynb|java|cpp|hpp|php|bash|bat|sql|sqlite|png|jpe?g|gif|bmp|svg|webp|tiff?|ico|mp[34]|wav
    |ogg|flac|avi|mkv|webm|tar|tgz|rar|exe|dll|dmg|apk|jar|bin|dat|bak|tmp|lock|eml|ics|vcf|parquet""",
    re.VERBOSE,
)
_OTHER_ENDINGS = (
    "рф|рус|москва|дети|онлайн|сайт|ком|орг|укр|бел|срб|мкд|мон|бг|ею|қаз|ελ|ευ|հայ|გე"  # noqa: RUF001
    "|中国|中國|公司|网络|網絡|香港|台湾|台灣|新加坡|在线|网址|网站|中文网|商城|世界|手机|移动"
    "|한국|닷컴|닷넷|みんな|コム|ストア|セール|クラウド|ไทย|भारत"
    "|مصر|السعودية|امارات|ایران|المغرب|تونس|فلسطين|موقع|شبكة|קום|ישראל"
)
"""Endings of hosts in other scripts. Any other word there may begin a sentence of its own."""
_ENDING = re.compile(rf"[a-z][a-z0-9]+|\d+|xn--.*|{_OTHER_ENDINGS}")
# Two sentences without a space between them look like a host, except for the capital.
_NEXT_SENTENCE = re.compile(r"[^/?#@:]*\.(?!Com\b|Net\b|Org\b|Io\b|Co\b|Chat\b)[A-Z][a-z]+")
# Browsers treat both slashes alike, and ignore tabs and line breaks between them.
_SLASHES = re.compile(r"/[\t\r\n]*[/\\]|\\[\t\r\n]*/")
_BARE_HOST = re.compile(
    r"(?<![\\\w:])\\\\[\w.-]+\\[^\s\"'<>]*|(?<![\w./@:-])[a-z][\w-]*:\d{2,5}/[^\s\"'<>]*", re.IGNORECASE
)
"""A share that Windows opens over the network, and a host without dots with its port."""
_MAY_BE_ADDRESS = re.compile(r"[@:/\\&%<]|\.[^\s]|[^\x00-\x7f]").search
"""Without one of these, a text holds no address."""
_LEFT_OUT = "[link left out]"
_TAG = re.compile(r"<[^<>]*>")
_AFTER_WORD = ".,;:!?"
"""Punctuation that may end a word, and is no part of it."""
_SHORT = 256
"""Limit of a text whose tokens are cached, in characters."""


@cache
def _token() -> re.Pattern[str]:
    """The pattern, compiled at first use: that takes as long as importing much of the rest."""
    return re.compile(
        # Nearly every token is a plain word; one that could start a date or an address is not. Where a
        # run of an address's characters begins, it is looked for however long it is. Inside of that, it
        # is looked for as far as a name may go, or else a text without spaces would be read over and
        # over; after a syllable not at all: it would have begun at that.
        # What begins no token is passed over as a run: letter by letter, all branches would be tried at
        # each, in one step of C that keeps other threads waiting.
        rf"""(?P<idle>[\s&\#{{}}\[\]()<>=|^`"'!?,;:$]{{4,}})
    |(?P<plain>(?!{MONTH}\s+\d)[a-z]+(?![^\s,;!?)]))
    |(?P<link>(?:[a-z][a-z0-9+.-]*:)?//{_END}+|https?:[/\\]*{_END}+
        |(?:mailto|tel|sms|data|javascript|vbscript|file):{_END}+|www\.{_END}+)
    |(?P<mail>(?:(?<![\w.+%-])\w[\w.+%-]*|(?<=[\w.+%-])(?<![{SYLLABLE}])\w[\w.+%-]{{0,63}})
        @[\w-]+(?:\.[\w-]+)*)
    |(?P<date>{DATE})
    |(?P<host>(?:(?<![\w.-])(?:\w[\w-]*\.)+
            |(?<=[\w.-])(?<![{SYLLABLE}])(?:\w[\w-]{{0,62}}\.){{1,64}})
        (?:[a-z][a-z0-9]+|xn--[a-z0-9-]+|{_OTHER_ENDINGS}|[^\W\d_]{{1,63}}(?=[/?#]\w))(?![\w@])
        (?::\d+)?(?:[/?#]{_END}*)?
        |(?<![\w.])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?![\w.])(?:[:/]{_END}*)?)
    |(?P<path>(?<![\w.~-])(?:[\w.~-]*+[/\\])++[\w.~*-]*)
    |(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\w))
    |(?P<word>[{SYLLABLE}]|\.{{2,}}|[*~%]+|\d+(?::\d+)+
        |[^\W{SYLLABLE}]+(?:[-_.+%~]+[^\W{SYLLABLE}]+)*)""",
        re.VERBOSE | re.IGNORECASE,
    )


def scan(text: str) -> Sequence[tuple[Token, str]]:
    """The tokens of a text, each with its type. The text must be ``plain``."""
    return _scanned(text) if len(text) <= _SHORT else _scan(text)


def _scan(text: str) -> Sequence[tuple[Token, str]]:
    if not text.isascii() or may_hold_date(text):
        return tuple(_pattern_tokens(text))
    # Only a date has spaces in it, so that the words between others can be read without the pattern.
    found = list[tuple[Token, str]]()
    for chunk in text.split():
        if chunk.isalpha():
            found.append(("word", chunk.lower()))
        elif word := _only_word(chunk):
            found.append(("word", word))
        else:
            found += _pattern_tokens(chunk)
    return tuple(found)


def _pattern_tokens(text: str) -> Iterator[tuple[Token, str]]:
    return (_read_token(each) for each in _token().finditer(text) if each.lastgroup != "idle")


# Reading a text scans it several times in a row.
_scanned = lru_cache(16)(_scan)


def _only_word(chunk: str) -> str:
    """The token of a chunk, in ASCII and without spaces, that is one word; empty for any other."""
    word = chunk.strip("\"'()")
    word = word[:-1] if word[-1:] in _AFTER_WORD else word
    if word.isalnum():
        return word.lower()
    is_joined = word[:1].isalpha() and word[-1:].isalnum()
    return word.lower() if is_joined and word.replace("-", "").replace("_", "").isalnum() else ""


def _read_token(found: re.Match[str]) -> tuple[Token, str]:
    token, kind = found[0], found.lastgroup
    match kind:
        case "plain":
            return "word", token.lower()
        case "link" | "mail" | "host":
            return kind, canonical(token)
        case "date":
            return "date", spelled(token)
        case "path":
            return "word", _place(token)
        case "number":
            return "word", number(token.replace(",", ""))
        case _:
            word = token.casefold()
            return "word", number(word) if _DECIMAL.fullmatch(word) else word


def unnumbered(text: str) -> str:
    """``text`` without the numbers of list items: they name nothing."""
    may_be_list = text[:1] in "(0123456789" or _ITEM.search(text) is not None
    return _NUMBERED.sub(r"\1", text) if may_be_list else text


def unmarked(text: str) -> str:
    """``text`` without the stars of lists and of emphasis: they are no wildcards."""
    return _EMPHASIS.sub(r"\2", _BULLET.sub(r"\1", text)) if "*" in text else text


def apart(text: str) -> str:
    """``text`` with a space added between sentences that have none: ``example.com.They said``."""
    return _RUN_ON.sub(". ", text)


def tokens(text: str) -> list[str]:
    """The tokens of a text, in order."""
    return [token for _, token in scan(plain(text))]


def loose(text: str) -> Iterator[str]:
    """The tokens of a text, for uses in which it does not matter which are adjacent."""
    for chunk in plain(text).split():
        if not chunk.isascii():
            yield from (token for _, token in scan(chunk))
        elif word := chunk.lower() if chunk.isalpha() else _only_word(chunk):
            yield word
        else:
            yield from (token for _, token in scan(chunk))


def canonical(address: str) -> str:
    """The canonical form of an address. A link's path keeps its case."""
    address = _without_punctuation(address)
    scheme = _SCHEME.match(address)
    if scheme is not None:
        address = address[scheme.end() :]
    authority = _AUTHORITY.match(address)
    end = authority.end() if authority else 0
    if scheme is not None and scheme[0][-1] in "/\\" and "@" in address[:end]:
        # A link with a user's name in it opens a host, and writes to nobody.
        return "//" + _named(address[:end].lower()) + unquote(address[end:]).rstrip("/")
    # The authority is not unquoted: a decoded character could look like its end.
    return _named(address[:end].lower()) + unquote(address[end:]).rstrip("/")


def _named(authority: str) -> str:
    """An authority with punycode decoded. Not casefolded: browsers keep ``ß``, folding gives ``ss``."""
    if "xn--" not in authority:
        return authority
    return _PUNYCODE.sub(_decoded, authority)


def _decoded(label: re.Match[str]) -> str:
    try:
        read = label[1].encode().decode("punycode")
    except UnicodeError:
        return label[0]
    # ``xn--abc-`` is no other spelling of ``abc``: letters of ASCII are never encoded.
    return label[0] if read.isascii() else read


def _without_punctuation(address: str) -> str:
    """An address without the punctuation of the sentence around it; dots after a slash or a dot stay."""
    end = len(address)
    while end and (address[end - 1] in ",;:!?)]*_" or _is_full_stop(address, end - 1)):
        end -= 1
    return address[:end]


def _is_full_stop(text: str, at: int) -> bool:
    return text[at] == "." and at > 0 and text[at - 1] not in "./"


def _place(path: str) -> str:
    """The canonical form of a path. Its start matters: ``~/x``, ``/x`` and ``x`` are three places."""
    path = path.replace("\\", "/").casefold()
    path = path[:-1] if _is_full_stop(path, len(path) - 1) else path
    return (path.rstrip("/") or "/").removeprefix("./")


def number(text: str) -> str:
    """A decimal number without trailing zeros: 1000.00 is 1000."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def parents(address: str) -> Iterator[str]:
    """The parents of a link: to name a page is to name its site."""
    cuts = [found.start() for found in _STEP.finditer(address)]
    for cut in cuts[:_MOST_PARENTS]:
        yield address[:cut].rstrip("/")


def blocks(text: str) -> Iterator[str]:
    """A long text in blocks, cut between lines or words.

    A pattern that looks through a text holds the interpreter until it is done: in a block, for less than
    a millisecond, and then others have their turn.
    """
    start = 0
    while len(text) - start > 2 * _BLOCK:
        seam = _SEAM.search(text, start + _BLOCK)
        if seam is None:
            break
        yield text[start : seam.end()]
        start = seam.end()
    yield text[start:]


def grouped(text: str) -> Iterator[str]:
    """Numbers that are written in groups, without the separators."""
    for block in blocks(text):
        if _HAS_DIGIT.search(block):
            for found in GROUPED.finditer(block):
                yield GAPS.sub("", found[0]).casefold()


def active(text: str) -> Iterator[str]:
    """The addresses in a text that can be clicked, fetched or written to, in canonical form."""
    if not _MAY_BE_ADDRESS(text):
        return
    # No address contains a space, and most words contain no character that an address needs.
    chunks = [chunk for form in _read(text) for chunk in form.split() if not chunk.isalpha()]
    found = dict.fromkeys(token for chunk in chunks for token in _active(chunk))
    yield from found
    if ":" in text or "\\" in text:
        for block in blocks(plain(text)):
            for bare in _BARE_HOST.finditer(block):
                yield _without_punctuation(bare[0])


def _active(chunk: str) -> Iterator[str]:
    for found in _token().finditer(chunk):
        if found.lastgroup in ("link", "mail"):
            yield canonical(found[0])
        elif found.lastgroup == "host" and not _NEXT_SENTENCE.fullmatch(found[0]):
            token = canonical(found[0])
            if is_host(token):
                yield token


def without_links(text: str, is_left_out: Callable[[str], bool]) -> str:
    """A text with a placeholder for every word that contains a link to leave out."""
    chunks = re.split(r"(\s+)", _SLASHES.sub("//", text))
    return "".join(
        _LEFT_OUT if not chunk.isspace() and any(map(is_left_out, active(chunk))) else chunk
        for chunk in chunks
    )


def _read(text: str) -> Iterator[str]:
    """A text as it is, and as a renderer may read it: without escapes and tags."""
    text = _SLASHES.sub("//", plain(text))
    yield text
    forms = {_TAG.sub("", text)} if "<" in text else set[str]()
    if not text.isascii() and "." in text:
        # Where no spaces are written between words, a host ends where the script changes.
        forms.add(SYLLABLES.sub(" ", text))
    for mark, opened in (("&", html.unescape), ("%", unquote), ("\\", _unescaped)):
        if mark in text:
            forms |= {_SLASHES.sub("//", plain(opened(each))) for each in (text, *forms)}
    yield from forms - {text}


def _unescaped(text: str) -> str:
    return text.replace("\\", "")


def is_host(token: str) -> bool:
    """Whether a token in the form of a host is one, and no file name or abbreviation."""
    authority = _AUTHORITY.match(token)
    host = authority[0].partition(":")[0] if authority else ""
    ending = host.rpartition(".")[2]
    if len(host) < len(token):
        return True
    return _ENDING.fullmatch(ending) is not None and _FILE.fullmatch(ending) is None


_NUMERIC = re.compile(r"\s*(<=|>=|<|>|=)\s*(-?\d+(?:\.\d+)?)\s*")
_STAR = "\ue000"
_INSIDE = r"[^\s/?#@:,;\\<>\"'%!]*"
"""What a star stands for before a path; ``eve%evil.example@firm.example`` is sent on to another host."""
_PATH = r"[^\s,;\\<>\"']*"


@lru_cache(1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    # A private character, so that the star is not stripped as punctuation at the end of a sentence.
    head, slash, path = canonical(plain(pattern).replace("*", _STAR)).partition("/")
    told = _INSIDE.join(re.escape(piece) for piece in head.split(_STAR))
    if slash:
        rest = _PATH.join(re.escape(piece) for piece in path.split(_STAR))
        told += f"(?:/{rest})" + ("?" if path == _STAR else "")
    return re.compile(told)


def matches(pattern: str, text: str) -> bool:
    """Whether a value matches a pattern, whatever the spelling of an address."""
    text = canonical(plain(text).strip())
    return ".." not in text and _compiled(pattern).fullmatch(text) is not None


def compares(pattern: str, text: str) -> bool:
    """The same, but the pattern may also be a bound for a number: ``<= 100``."""
    bound = _NUMERIC.fullmatch(pattern)
    if bound is None:
        return matches(pattern, text)
    try:
        left, right = float(text), float(bound[2])
    except ValueError:
        return False
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}.get(
        bound[1], left == right
    )


def looks_like(text: str) -> Kind | None:
    """The kind of a value by its form alone: something to write to, to open, or to pay into."""
    found = list(scan(text))
    if any(kind == "mail" for kind, _ in found):
        return "address"
    if any(kind == "link" or (kind == "host" and is_host(token)) for kind, token in found):
        return "web"
    if any(each[:2].isalpha() for each in grouped(text)):
        return "account"
    return None


_LISTED = re.compile(r"[,;|\n]")


def spell(text: str) -> str:
    """A value in one spelling: an address, an account, a date and a number whole, a text by words."""
    told = plain(text).strip()
    grouped_whole = GROUPED.fullmatch(told)
    if grouped_whole is not None:
        return GAPS.sub("", told).casefold()
    found = scan(told)
    if len(found) == 1 and (found[0][0] != "word" or "/" in told):
        return found[0][1]
    return " ".join(told.casefold().split())


def is_same(one: object, other: object) -> bool:
    """Whether two plain values are the same, however they are spelled."""
    if isinstance(one, bool) or isinstance(other, bool):
        return str(one).casefold() == str(other).casefold()
    if isinstance(one, str) and isinstance(other, str):
        return one == other or spell(one) == spell(other)
    if one is None or other is None:
        return one is other
    try:
        return float(one) == float(other)  # type: ignore[arg-type]
    except ValueError:
        return False


def listed_parts(text: str) -> list[str]:
    """The parts of a text that lists several values."""
    return [part.strip() for part in _LISTED.split(text) if part.strip()]

"""Finds keys, tokens and passwords in a text, by their format or by the name that they are set under.

Each row was chosen to leave ordinary text alone: hashes, UUIDs, words with a hyphen. No pattern matches
a quote or a line break that is not part of the secret, so JSON text around one stays valid. Some
vendors' keys have no format (Mistral's, Azure's old ones): those are found by their names only.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from rightcall.core.lazy import pattern

REDACTED = "[redacted]"

# A secret begins at a word boundary, or after the escape of a line break or a tab.
_START = r"(?:(?<![\w-])|(?<=\\[nrt]))"
_DIGIT = r"(?=[\w-]*\d)"
_BASE64 = r"[A-Za-z0-9+/=]"


def _row(
    text: str, *hints: str, replacement: str = REDACTED
) -> tuple[tuple[str, ...], re.Pattern[str], str]:
    return hints, pattern(text, re.ASCII), replacement


# Every text with the secret contains one of the hints; searching for a hint is much faster.
_FORMATS = (
    # A private key up to its last line; or, if the text was cut, up to the end
    _row(
        r"-----BEGIN (?P<kind>[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----"
        r"(?:[^\"-]*+(?:-(?!----)[^\"-]*+)*+-----END (?P=kind)-----"
        rf"|(?:(?:\s|\\[nr])+{_BASE64}{{16,}})+(?:(?:\s|\\[nr])+{_BASE64}+$)?)",
        "PRIVATE KEY",
    ),
    # OpenAI, Anthropic, OpenRouter and others with the same format
    _row(
        _START + rf"sk-{_DIGIT}(?:(?:ant|proj|svcacct|admin|or)-[\w-]{{20,}}|[A-Za-z0-9]{{16,}})", "sk-"
    ),
    # GitHub: https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
    _row(_START + r"gh[pousr]_[A-Za-z0-9]{30,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _row(_START + r"github_pat_\w{22,}", "github_pat_"),
    _row(_START + r"glpat-[\w-]{20,}", "glpat-"),
    # Amazon: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
    _row(_START + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![\w-])", "AKIA", "ASIA"),
    # Bedrock's API keys, long-term and short-term
    _row(_START + rf"(?:ABSK|bedrock-api-key-){_BASE64}{{40,}}", "ABSK", "bedrock-api-key-"),
    # Google: old and new keys, OAuth tokens and clients
    _row(_START + r"AIza[\w-]{35}(?![\w-])", "AIza"),
    _row(_START + r"AQ\.[\w-]{40,}", "AQ."),
    _row(_START + r"(?:ya29\.|GOCSPX-)[\w-]{20,}", "ya29.", "GOCSPX-"),
    # Azure: https://github.com/microsoft/security-utilities, "common annotated security key"
    _row(
        _START + r"[A-Za-z0-9]{52}JQQJ9[9DH][A-Za-z0-9][A-L][A-Za-z0-9]{24}(?:[A-Za-z0-9]{2}==)?",
        "JQQJ9",
    ),
    # The hosts of models: Cerebras, Fireworks, Groq, Together, xAI; NVIDIA, Perplexity, Replicate
    _row(_START + r"csk-[A-Za-z0-9]{32,}", "csk-"),
    _row(_START + rf"fw_{_DIGIT}[A-Za-z0-9]{{20,}}", "fw_"),
    _row(_START + r"gsk_[A-Za-z0-9]{32,}", "gsk_"),
    _row(_START + r"tgp_v1_[\w-]{32,}", "tgp_v1_"),
    _row(_START + r"xai-[A-Za-z0-9]{32,}", "xai-"),
    _row(_START + r"nvapi-[\w-]{32,}", "nvapi-"),
    _row(_START + r"pplx-[A-Za-z0-9]{32,}", "pplx-"),
    _row(_START + r"r8_[A-Za-z0-9]{32,}", "r8_"),
    _row(_START + r"hf_[A-Za-z0-9]{30,}", "hf_"),
    # Search engines: Brave, Tavily
    _row(_START + rf"BSA{_DIGIT}[\w-]{{27,28}}(?![\w-])", "BSA"),
    _row(_START + rf"tvly-{_DIGIT}[\w-]{{20,}}", "tvly-"),
    # Registries, and others that are common in a developer's environment
    _row(_START + r"npm_[A-Za-z0-9]{30,}", "npm_"),
    _row(_START + r"pypi-AgE[\w-]{30,}", "pypi-AgE"),
    _row(_START + r"do[opr]_v1_[a-f0-9]{40,}", "o_v1_", "p_v1_", "r_v1_"),
    _row(_START + r"SG\.[\w-]{16,}\.[\w-]{16,}", "SG."),
    _row(_START + r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}", "xox", "xapp-"),
    _row(_START + r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", "k_live_", "k_test_"),
    _row(_START + r"whsec_[A-Za-z0-9+/=]{24,}", "whsec_"),
    # The gateway's own: serve/gateway/keys.py
    _row(_START + r"rc-[0-9a-f]{8}-[\w-]{43}(?![\w-])", "rc-"),
    # Vault: https://developer.hashicorp.com/vault/docs/concepts/tokens; Databricks, Linear, age
    _row(_START + rf"hv[bsr]\.{_DIGIT}[\w-]{{24,}}", "hvb.", "hvs.", "hvr."),
    _row(_START + r"b\.AAAAAQ[\w-]{90,}", "b.AAAAAQ"),
    # ... and before 1.10
    _row(
        r"(?:(?<![\w.-])|(?<=\\[nrt]))s\.(?=[A-Za-z]*\d)(?=[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])[A-Za-z0-9]{24}"
        r"(?![\w(-]|\.\w)"
    ),
    _row(_START + r"(?:dapi|dose)[0-9a-f]{32}(?:-\d+)?(?![\w-])", "dapi", "dose"),
    _row(_START + rf"lin_(?:api|oauth)_{_DIGIT}[A-Za-z0-9]{{32,}}", "lin_api_", "lin_oauth_"),
    _row(_START + r"AGE-SECRET-KEY-(?:PQ-)?1[02-9AC-HJ-NP-Z]{50,}", "AGE-SEC"),
    # Discord: the bot's id, of 17 to 20 digits, in base64; when, and a signature
    # https://discordpy.readthedocs.io/en/stable/token.html
    _row(
        _START + r"(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}(?:[MNO](?:[AQgw]|[DTjz][AEIMQUYcgk]))?"
        r"\.[\w-]{6,7}\.[\w-]{27,}",
    ),
    # ... a webhook, whose address is all that it takes to write to a channel; and a user, of old
    _row(
        r"(discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{17,20}/)[\w-]{60,}",
        "/webhooks/",
        replacement=rf"\1{REDACTED}",
    ),
    _row(_START + r"mfa\.[\w-]{84}(?![\w-])", "mfa."),
    # Telegram: https://core.telegram.org/bots/api#authorizing-your-bot, also in a URL
    _row(r"(?:(?<![\w.-])|(?<=/bot)|(?<=\\[nrt]))\d{8,10}:AA[\w-]{33}(?![\w-])", ":AA"),
    # Twilio: a key; and an account's token after its id, which is none itself
    # https://www.twilio.com/docs/glossary/what-is-a-sid
    _row(_START + r"SK[0-9a-f]{32}(?![\w-])"),
    _row(_START + r"(AC[0-9a-f]{32}:)[0-9a-f]{32}(?![\w-])", replacement=rf"\1{REDACTED}"),
    # JSON Web Tokens: the first part is an object in base64, which always begins like this
    _row(_START + r"eyJ[\w-]{8,}(?:\.[\w-]{4,}\.[\w-]*)(?:\.[\w-]+)*", "eyJ"),
    _row(
        r"(\b[Bb](?:earer|EARER)\s+)(?=[\w.~+/-]*\d)[\w.~+/-]{8,}=*",
        "earer",
        "EARER",
        replacement=rf"\1{REDACTED}",
    ),
    _row(
        rf"(\b[Aa]uthorization:\s*(?:[Bb]asic|[Tt]oken|[Aa]pi-?[Kk]ey)\s+){_BASE64}{{8,}}",
        "uthorization:",
        replacement=rf"\1{REDACTED}",
    ),
    _row(r"(://[^\s/@:\"'\\<>]{0,128}:)[^\s/@\"'\\<>]{1,1024}@", "://", replacement=rf"\1{REDACTED}@"),
)
_HINTS = tuple({hint for hints, _, _ in _FORMATS for hint in hints})

# Every text with a secret that has no hint matches one of these: an old token of Vault, Twilio, Discord.
# Each begins with plain letters, so that searching for it is as fast as for a hint.
_SIGNS = (
    r"s\.[A-Za-z0-9]{24}",
    r"SK[0-9a-f]{32}",
    r"AC[0-9a-f]{32}:",
    r"\.[\w-]{6,7}\.[\w-]{27}",
)
_TEXT_SIGNS = tuple(pattern(sign, re.ASCII) for sign in _SIGNS)

# An escape can hide a name; and two letters outside ASCII become ASCII in lower case.
_PACKED_HINTS = tuple(hint.encode() for hint in (*_HINTS, "\\u00", "\u212a", "\u0130"))
_COMMON = b"etaoinsrhldcum_fpgwybv.-:/kx"
"""Letters of packed values, the most common first; any other is rarer."""
_FEW = 256
"""Up to this many bytes, one pattern for all words is faster than searching for each word."""

Secrecy: TypeAlias = Literal["open", "text", "all"]
"""What a name says about its value: not secret; secret if text; secret if text or number."""

# Names are compared without case and separators: api_key, Api-Key and APIKEY are the same.
_SEPARATORS = pattern(r"[^a-z0-9]+")
_PASSWORDS = pattern(r"(?:password|passwd|passphrase|passcode|secret)s?\d*$")
# A number under one of these names is a count or an index.
_TOKENS = pattern(
    r"(?:token|authorization|cookies?|credentials?"
    r"|(?:api|access|account|auth|private|secret|signing|encryption|subscription)keys?)\d*$"
)
# Page tokens and a tokeniser's special tokens are not secret.
_HARMLESS = pattern(r"(?:page|next|continuation|cursor|sync|[be]os|unk|pad|stop|mask)token$")
_WHOSE = ("api", "access", "account", "auth", "private", "signing", "encryption", "subscription")
# Our own fields with such names are token counts.
_COUNTS = (
    "tokens",
    "max_tokens",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cache_written_tokens",
    "reasoning_tokens",
)
_OWN_MEMBERS = re.compile(b"|".join(bytes([0xA0 + len(name)]) + name.encode() for name in _COUNTS))
_SEPARATOR_BYTES = bytes(
    [each for each in range(256) if not (chr(each).isascii() and chr(each).isalnum())]
)
_ESCAPE = re.compile(rb"\\+[bfnrt]?")
_NAME_HINTS = (
    "passw",
    "passp",
    "passc",
    "secret",
    "token",
    "key",
    "authorization",
    "cookie",
    "credential",
)
# "key" alone is no sign of a secret, only with whose key it is.
_PACKED_NAMES = tuple(
    hint.encode() for hint in (*_NAME_HINTS, *[f"{whose}key" for whose in _WHOSE]) if hint != "key"
)

# By a short name: hashing all of them for the cache took as long as the search.
_PACKED = {"forms": _PACKED_HINTS, "names": _PACKED_NAMES}

# "password": "x", in JSON or in a string of JSON
_MEMBER = pattern(r'(?<!\\)(?P<quote>\\*+")(?P<name>[^"\\\n]{1,64})(?P=quote)\s*:\s*(?P=quote)')
_QUOTE = pattern(r'(\\*+)"|\n|\Z')

# password=x, API_KEY = "x", --token=x, 'secret': 'x', x-api-key: x. The value is in quotes, which may be
# escaped, or ends with the word, or with a parameter of a URL or a connection string.
_NAME = pattern(
    r"(?<![\w.-])(?P<name>'?[\w.-]{1,128}+'?)(?P<sign>[ \t]{0,8}+(?:=(?![=>~])|:(?![:=/]))[ \t]{0,8}+)"
)
_VALUE = pattern(
    r"(?P<quote>\\*+[\"'])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n\\])){1,4096}+)"
    r"|(?P<bare>[^\s\"'&;<>\\`]{1,512}+)"
)
# The rest of a long value is matched once it is known to be secret: what is matched in vain, again for
# every name, must be short.
_REST = pattern(r"[^\s\"'&;<>\\`]*+")
_TRAILING = ".,:!?)]}"
# Placeholders for a value that is elsewhere: $NAME, <your key>, {{ key }}, %s, ***, [redacted]
_REFERENCE = pattern(
    r"\$[{(]|\$[A-Z_]+\b|<|[{\[(]|%(?:s|\(|[A-Z_]+%)|[*.…]{3}|x{4,}$"
    r"|(?:None|null|nil|[Tt]rue|[Ff]alse|undefined|str|string|bytes)(?!\w)"
)
_EXPRESSION = pattern(r"(?P<path>[A-Za-z_][\w.]*)(?P<next>[(\[]?)")
_LONG = 256 * 1024
_SHORTEST_GUESS = 6
_LONGEST_WORD = 16
_LONGEST_COUNT = 12
"""Digits. A longer number is not a count."""
SHORTEST_KEY = 8
"""A shorter key is a dummy for a server that asks for none, and may be a part of any word."""
_SHORTEST_HALF = 4


def may_hold_secret(text: str) -> bool:
    """Whether the text is worth a closer look."""
    if has_any(text, _HINTS) or _has_sign(text):
        return True
    return ("=" in text or ":" in text) and may_name_secret(text)


def _has_sign(text: str) -> bool:
    return any(sign.search(text) for sign in _TEXT_SIGNS)


def may_name_secret(text: str) -> bool:
    """Whether something in the text may be the name of a secret."""
    return has_any(text.lower(), _NAME_HINTS)


def may_be_secret(packed: bytes) -> bool:
    """Whether a value, encoded as MessagePack, may hold a secret. False positives are rare.

    In MessagePack every string is in one piece and without escapes, and so are bytes.
    """
    if _holds(packed, "forms") or any(sign.search(packed) for sign in _packed_signs()):
        return True
    if b"tokens" in packed:
        packed = _OWN_MEMBERS.sub(b"", packed)
    if _holds(packed.translate(None, _SEPARATOR_BYTES).lower(), "names"):
        return True
    if b"\\" not in packed:
        return False
    # A name in a string that holds JSON itself may contain escapes.
    packed = _ESCAPE.sub(b"", packed)
    return _holds(packed.translate(None, _SEPARATOR_BYTES).lower(), "names")


@cache
def _packed_signs() -> tuple[re.Pattern[bytes], ...]:
    return tuple(re.compile(sign.encode()) for sign in _SIGNS)


def _holds(packed: bytes, kind: str) -> bool:
    if len(packed) <= _FEW:
        return _any_of(kind).search(packed) is not None
    return any(map(packed.__contains__, _PACKED[kind]))


@cache
def _any_of(kind: str) -> re.Pattern[bytes]:
    """Returns a pattern that stops only at the rarest letter of each hint, and looks back from there."""
    by_anchor: dict[bytes, list[bytes]] = {}
    for hint in _PACKED[kind]:
        rarest = max(hint, key=lambda letter: (_COMMON + bytes([letter])).index(letter))
        at = hint.index(rarest)
        back = re.escape(hint[: at + 1])
        ahead = re.escape(hint[at + 1 :])
        by_anchor.setdefault(hint[at : at + 1], []).append(b"(?<=%s)%s" % (back, ahead))
    groups = [b"%s(?:%s)" % (re.escape(a), b"|".join(each)) for a, each in by_anchor.items()]
    return re.compile(b"|".join(groups))


def has_any(text: str, hints: Iterable[str]) -> bool:
    """Whether one of the hints is in the text."""
    if len(text) > _LONG:
        # One hint at a time, so that other threads can run in between.
        return any(hint in text for hint in hints)
    return any(map(text.__contains__, hints))


def redact_formats(text: str) -> str:
    """Returns ``text`` with every secret redacted that has a known format or a telling name."""
    has_names = ("=" in text or ":" in text) and may_name_secret(text)
    if has_names and '"' in text:
        text = _redact_members(text)
    has_sign = _has_sign(text)
    for hints, form, replacement in _FORMATS:
        if has_any(text, hints) if hints else has_sign:
            text = form.sub(replacement, text)
    if has_names:
        text = _redact_settings(text)
    return text


def redact_key(text: str, key: str | None, shown: str = "[key]") -> str:
    """Returns ``text`` without this key, and without half of it where the text was cut (its end or a …).

    One under eight characters is replaced only where it stands alone: it could be a part of any word.
    """
    if not key:
        return text
    if len(key) < SHORTEST_KEY:
        return re.sub(rf"(?<![\w-]){re.escape(key)}(?![\w-])", shown, text)
    pieces = text.replace(key, shown).split("…")
    return "…".join([_without_half(piece, key, shown) for piece in pieces])


def _without_half(text: str, key: str, shown: str) -> str:
    for length in range(min(len(key) - 1, len(text)), _SHORTEST_HALF - 1, -1):
        if text.endswith(key[:length]):
            return text[:-length] + shown
    return text


def secrecy_of(name: str) -> Secrecy:
    """Returns what a name says about its value."""
    return _secrecy_of_ending(name[-64:])


@lru_cache(4096)
def _secrecy_of_ending(name: str) -> Secrecy:
    plain = _SEPARATORS.sub("", name.lower())
    if _PASSWORDS.search(plain):
        return "all"
    if _TOKENS.search(plain) and not _HARMLESS.search(plain):
        return "text"
    return "open"


def _redact_members(text: str) -> str:
    """Redact the members of pieces of JSON, also of such that are strings of JSON themselves."""
    pieces = []
    position = 0
    for member in _MEMBER.finditer(text):
        if member.start() >= position and secrecy_of(member["name"]) != "open":
            pieces += [text[position : member.end()], REDACTED]
            position = _end_of_string(text, member.end(), escapes=len(member["quote"]) - 1)
    return "".join(pieces) + text[position:]


def _end_of_string(text: str, start: int, escapes: int) -> int:
    """Returns where a string ends whose quotes have so many backslashes before them."""
    for quote in _QUOTE.finditer(text, start):
        found = len(quote[1] or "")
        if found < escapes or not quote[0].endswith('"'):
            return quote.start()
        if found == escapes or (escapes == 0 and found % 2 == 0):
            return quote.end() - escapes - 1
    return len(text)


def _redact_settings(text: str) -> str:
    pieces = []
    position = 0
    for setting in _NAME.finditer(text):
        if setting.start() < position or secrecy_of(setting["name"]) == "open":
            continue
        value = _VALUE.match(text, setting.end())
        if value is not None and (secret := _secret_in(setting, value)):
            start = value.start("bare" if value["quoted"] is None else "quoted")
            pieces += [text[position:start], REDACTED]
            position = start + len(secret)
            if value["quoted"] is None and position == value.end():
                position = _REST.match(text, position).end()  # type: ignore[union-attr]
    return "".join(pieces) + text[position:]


def _secret_in(setting: re.Match[str], found: re.Match[str]) -> str:
    """Returns the part of the value that is secret."""
    name = setting["name"]
    sign = setting["sign"]
    quoted = found["quoted"]
    secrecy = secrecy_of(name)
    value = found["bare"].rstrip(_TRAILING) if quoted is None else quoted
    is_count = secrecy == "text" and value.isdecimal() and len(value) <= _LONGEST_COUNT
    if is_count or _is_reference(name, value, quoted=quoted is not None):
        return ""
    # An equals sign without a space assigns a value, and so does a quote; a colon may be punctuation.
    if sign == "=" or (quoted is not None and ("=" in sign or name.endswith("'"))):
        return value
    if _looks_secret(value, secrecy):
        return value
    return ""


def _is_reference(name: str, value: str, *, quoted: bool) -> bool:
    """Whether it only refers to the secret: another name, a call, a placeholder."""
    if _REFERENCE.match(value):
        return True
    expression = _EXPRESSION.match(value)
    if quoted or expression is None:
        return False
    own = name.strip("'-").replace("-", "_")
    last = expression["path"].rpartition(".")[2]
    return bool(expression["next"]) or last == own or last.endswith(f"_{own}")


def _looks_secret(value: str, secrecy: Secrecy) -> bool:
    """Whether a word after a name is more likely its value than the rest of a sentence."""
    if len(value) < _SHORTEST_GUESS or " " in value:
        return False
    has_letter = any(map(str.isalpha, value))
    has_digit = any(map(str.isdecimal, value))
    if has_digit:
        return has_letter or secrecy == "all" or len(value) > _LONGEST_COUNT
    return len(value) >= _LONGEST_WORD and value.isalnum() and not (value.islower() or value.isupper())

"""Keys, tokens and passwords in a text, known by their form alone, into a mark in their place.

Each row was chosen to leave ordinary text alone: hashes, UUIDs, words with a hyphen. No pattern takes a
quote or a line break that is not part of the secret, so a JSON text around one stays sound.
"""

import re
from collections.abc import Iterable
from functools import cache

REDACTED = "[redacted]"

# A secret begins where a word does, or after the escape of a line break or a tab.
_START = r"(?:(?<![\w-])|(?<=\\[nrt]))"
_DIGIT = r"(?=[\w-]*\d)"
_BASE64 = r"[A-Za-z0-9+/=]"


def _row(pattern: str, *hints: str, replacement: str = REDACTED) -> tuple[tuple[str, ...], str, str]:
    return hints, pattern, replacement


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when a text first seems to hold such a secret, which most never do."""
    return re.compile(pattern, re.ASCII)


# One of the hints is in every text that holds the secret; looking for it is much the faster.
_FORMATS = (
    # A private key to its last line; or, where the text was cut, to the last line there is
    _row(
        r"-----BEGIN (?P<kind>[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----"
        r"(?:[^\"-]*+(?:-(?!----)[^\"-]*+)*+-----END (?P=kind)-----"
        rf"|(?:(?:\s|\\[nr])+{_BASE64}{{16,}})+(?:(?:\s|\\[nr])+{_BASE64}+$)?)",
        "PRIVATE KEY",
    ),
    # OpenAI, Anthropic, OpenRouter and those who write keys the same way
    _row(
        _START + rf"sk-{_DIGIT}(?:(?:ant|proj|svcacct|admin|or)-[\w-]{{20,}}|[A-Za-z0-9]{{20,}})", "sk-"
    ),
    # GitHub: https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
    _row(_START + r"gh[pousr]_[A-Za-z0-9]{30,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _row(_START + r"github_pat_\w{22,}", "github_pat_"),
    _row(_START + r"glpat-[\w-]{20,}", "glpat-"),
    # Amazon: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
    _row(_START + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![\w-])", "AKIA", "ASIA"),
    _row(_START + r"AIza[\w-]{35}(?![\w-])", "AIza"),
    _row(_START + r"xox[a-z]-[A-Za-z0-9-]{10,}", "xox"),
    _row(_START + r"hf_[A-Za-z0-9]{30,}", "hf_"),
    _row(_START + r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", "k_live_", "k_test_"),
    # JSON Web Tokens: the first part is an object in base64, and every such begins so
    _row(_START + r"eyJ[\w-]{8,}(?:\.[\w-]{4,}\.[\w-]*)(?:\.[\w-]+)*", "eyJ"),
    _row(
        r"(\b[Bb](?:earer|EARER)\s+)(?=[\w.~+/-]*\d)[\w.~+/-]{8,}=*",
        "earer",
        "EARER",
        replacement=rf"\1{REDACTED}",
    ),
    _row(
        rf"(\b[Aa]uthorization:\s*[Bb]asic\s+){_BASE64}{{8,}}",
        "uthorization:",
        replacement=rf"\1{REDACTED}",
    ),
    _row(
        r"(://[^\s/@:\"'\\<>]{0,128}:)[^\s/@\"'\\<>]{1,1024}@",
        "://",
        replacement=rf"\1{REDACTED}@",
    ),
)
_HINTS = tuple({hint for hints, _, _ in _FORMATS for hint in hints})


def may_hold_secret(text: str) -> bool:
    """Whether it is worth looking more closely."""
    return has_any(text, _HINTS)


def has_any(text: str, hints: Iterable[str]) -> bool:
    """Whether one of the hints is in the text."""
    return any(map(text.__contains__, hints))


def redact_formats(text: str) -> str:
    """``text`` with every secret of a known form replaced."""
    for hints, pattern, replacement in _FORMATS:
        if has_any(text, hints):
            text = _compiled(pattern).sub(replacement, text)
    return text

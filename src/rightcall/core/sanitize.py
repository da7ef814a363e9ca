r"""Makes text that somebody else wrote safe to encode, or to show to a person.

Half a surrogate pair comes from a file name, a model's ``\ud83d`` or a careless tool; neither UTF-8 nor
JSON can hold it. Escape sequences can rewrite a terminal, its title and the clipboard, and characters
that reverse the direction of writing can make a command read as another.
"""

import re
import unicodedata
from typing import Any

from rightcall.core.lazy import pattern

_UNSAFE = pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Printable for Python, but misleading: blanks and joiners that show nothing, characters that look like
# quotation marks, and box-drawing characters.
_DISGUISED = pattern(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
    "\u02ba\u02dd\u02ee\u05f4\u1cd3\u201c-\u201f\u2033\u2036\u275d\u275e\u3003\u301d-\u301f\uff02"
    "\u01c0\u2016\u2223\u2225\u2500-\u259f\u2758-\u275a\uff5c]"
)
# Brackets could close a tag or a chat template's marker, and some models' markers are words in square
# ones, as in ``[/INST]``; JSON itself has none around capitals. The others are invisible, and can hide
# instructions: controls, line separators, and Unicode's Default_Ignorable_Code_Point.
_HIDDEN = pattern(
    r"[<>\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    r"|\[(?=/?(?:[A-Z][A-Z_]+|[gs]MASK)\])"
)
# What the tokenizers of open models read as one token wherever it stands: ends of turns, roles, calls
# and their results, thoughts. Servers that render the model's chat template do so in results, too.
_TOKENS = pattern(
    r"<(?:\|/?[^\s<>|]{1,64}\|?>|\w{1,40}\|>"  # ChatML, Llama 3, Phi, Harmony, GLM, Kimi; Gemma 4
    "|/?\uff5c"  # DeepSeek
    r"|/?(?:\w{1,20}:)?(?:\w{1,20}_)?(?:tool_calls?|tool_responses?|function_calls?|think)(?::\w{1,20})?>"
    r"|(?:start|end)_(?:of_turn|of_image|function_\w{1,20})>|escape>"  # Gemma
    r"|(?:beginning|end)_of_sentence>|/?longcat_s>|seed:[be]os>"  # MiniMax M1, LongCat, Seed
    r"|/?s>|(?:bos|eos|pad|unk|sep|[se]op)>|</?SYS>>|/?TOOLCALL>"  # Llama 2, Mistral, GLM, Nemotron
    r"|(?:[BE]OS|PAD)_TOKEN>|SPECIAL_\d{1,4}>|extra_id_\d{1,3}>)"  # Command R, Nemotron
)
_BRACKETED = pattern(
    r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|THINK)\]"
    r"|\[(?:[BE]OS|EOT|[gs]MASK|IMG(?:_BREAK|_END)?|\|\w{1,20}\|)\]"  # Kimi, GLM, Pixtral, EXAONE
    r"|\]<\]minimax\[>\[|\]~!?b[\]\[]|\[e~\["
)
_MOST_MARKS = 2
"""The most combining marks on one letter; more would reach into other lines."""
_PICTURES = 0x2400
"""Unicode's pictures of ASCII's control characters begin here."""


def encodable(text: str) -> str:
    """Returns the text with a question mark for each half of a surrogate pair."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def encodable_json(value: Any) -> Any:
    """Returns a JSON value with every text in it encodable."""
    match value:
        case str():
            return encodable(value)
        case list() | tuple():
            return [encodable_json(item) for item in value]
        case dict():
            return {encodable_json(key): encodable_json(item) for key, item in value.items()}
        case _:
            return value


def escape_hidden(encoded: str) -> str:
    """Returns JSON with brackets of markers and invisible characters written as numbers."""
    return _HIDDEN.sub(_escape, encoded)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def break_tokens(text: str) -> str:
    """Returns the text with a space in every special token of the common model families.

    People and models can still read it, but no tokenizer takes it for the end of a turn.
    """
    if "<" in text:
        text = _TOKENS.sub(_break, text)
    if "[" in text or "]" in text:
        text = _BRACKETED.sub(_break, text)
    return text


def _break(found: re.Match[str]) -> str:
    return f"{found[0][0]} {found[0][1:]}"


def printable(text: str) -> str:
    """Returns the text without anything that a terminal would obey, except new lines and tabs.

    Each character is replaced on its own, so text in pieces gives the same as the whole.
    """
    return _UNSAFE.sub(_picture_of, text)


def spell_controls(text: str) -> str:
    """Returns the same for a web page, with each such character as its number: ``⟨U+001B⟩``."""
    return _UNSAFE.sub(lambda found: "" if found[0] == "\r" else f"⟨U+{ord(found[0]):04X}⟩", text)


def visible(text: str) -> str:
    """Returns the text in one line, with every invisible or misleading character as its number.

    For a person who decides by what they read. Nothing is hidden between the letters, nothing reverses
    the direction of writing, and nothing looks like a quotation mark or the edge of a box. JSON stays
    JSON.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = []
    marks = 0
    for character in text:
        if unicodedata.combining(character):
            marks += 1
        else:
            marks = 0
        if character.isprintable() and not _DISGUISED.match(character) and marks <= _MOST_MARKS:
            shown.append(character)
            continue
        # As JSON writes it: one number for each unit of UTF-16.
        units = character.encode("utf-16-be", errors="surrogatepass")
        for at in range(0, len(units), 2):
            shown.append(f"\\u{units[at : at + 2].hex()}")
    return "".join(shown)


def _picture_of(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character == "\r":
        # Mostly half of a line ending; leaving it out hides nothing.
        return ""
    if code < 0x20:  # noqa: PLR2004 - where the control characters end
        return chr(_PICTURES + code)
    if code < 0x100:  # noqa: PLR2004
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"

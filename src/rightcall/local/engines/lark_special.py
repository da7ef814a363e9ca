"""A Lark grammar's markers into the special tokens that they are in a model's vocabulary.

To llguidance a quoted text is never a special token, even if the token is written just so; a token is
named by its number (https://github.com/guidance-ai/llguidance, ``docs/syntax.md``, "Special tokens").
"""

import json
import re
from collections.abc import Mapping

_LITERALS = re.compile(r'/(?:[^/\\\n]|\\.)+/|("(?:[^"\\\n]|\\.)*")')
_RULE = re.compile(r"^[a-z_][a-z0-9_]*(\[[^\]]*\])?\s*:")
"""Rules begin with a small letter. What begins with a capital is the lexer's, which knows no tokens."""


def with_special_tokens(text: str, tokens: Mapping[str, int]) -> str:
    """The grammar, with quoted markers replaced by the tokens they are."""
    if not tokens:
        return text
    longest_first = sorted(tokens, key=len, reverse=True)
    marker = re.compile(f"({'|'.join(re.escape(each) for each in longest_first)})")

    def replaced(match: re.Match[str]) -> str:
        literal = match.group(1)
        if literal is None:
            return match.group()
        parts = [part for part in marker.split(json.loads(literal)) if part]
        if not any(part in tokens for part in parts):
            return literal
        named = [f"<[{tokens[part]}]>" if part in tokens else json.dumps(part) for part in parts]
        return named[0] if len(named) == 1 else f"({' '.join(named)})"

    lines, in_rule = [], False
    for line in text.split("\n"):
        if line and not line[0].isspace() and not line.startswith("|"):
            in_rule = _RULE.match(line) is not None
        lines.append(_LITERALS.sub(replaced, line) if in_rule else line)
    return "\n".join(lines)

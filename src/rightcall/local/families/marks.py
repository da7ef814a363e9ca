"""The markers of a family, as far as they may be single special tokens of a model's vocabulary."""

import re

from rightcall.local.families.family import Family, NamedForm

# What stands in a marker beside line breaks or another marker may be a token by itself.
_TOKENS = re.compile(r"<[^<>\s]+>|\[[A-Z_/]+\]")


def marks_of(family: Family) -> tuple[str, ...]:
    """Everything that must come out of an engine as text, although it may be a token that means more."""
    marks = [
        *family.section.open,
        *family.section.close,
        *family.call.open,
        *family.call.close,
        *family.thoughts.open,
        *family.thoughts.close,
        *family.wrappers,
        getattr(family.form, "quote", ""),
    ]
    if isinstance(family.form, NamedForm):
        marks += [mark for mark, _ in family.form.marks]
    if (channels := family.channels) is not None:
        marks += [channels.start, channels.channel, channels.constrain, channels.message, *channels.ends]
    tokens = [token for mark in marks for token in _TOKENS.findall(mark)]
    return tuple(dict.fromkeys(mark.strip() for mark in (*tokens, *marks) if mark.strip()))

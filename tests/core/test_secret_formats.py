"""A key that is known is redacted, and words that only look like a part of it are not."""

import pytest

from rightcall.core.secret_formats import redact_key

LONG = "zz-no-form-9f"

SHOWN = {
    "no key": (None, "a text", "a text"),
    "an empty key": ("", "a text", "a text"),
    "a key inside a word": (LONG, f"a{LONG}b", "a[key]b"),
    "a dummy inside a word": ("x", "context_length_exceeded next", "context_length_exceeded next"),
    "a dummy with a hyphen": ("no", "no-key, -no, no_no", "no-key, -no, no_no"),
    "a dummy alone": ("x", "the key 'x' (x): x", "the key '[key]' ([key]): [key]"),
    "a dummy that is a pattern": (".*", "a .* b", "a [key] b"),
    "seven characters": ("lm-stud", "lm-studio lm-stud", "lm-studio [key]"),
    "eight characters": ("lm-studi", "lm-studio lm-studi", "[key]o [key]"),
    "half a key at the end": (LONG, f"so {LONG[:5]}", "so [key]"),
    "half a key at a cut": (LONG, f"so {LONG[:9]}… (and {LONG})", "so [key]… (and [key])"),
    "too little of a key": (LONG, "jazz", "jazz"),
    "half a key in the middle": (LONG, f"{LONG[:9]} so", f"{LONG[:9]} so"),
}


@pytest.mark.parametrize(("key", "text", "shown"), SHOWN.values(), ids=SHOWN)
def test_a_known_key_is_redacted(key, text, shown):
    assert redact_key(text, key) == shown

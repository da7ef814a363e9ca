"""Grammars: what holds a raw model's text to legal calls, or to an answer of a given form.

``grammar_for`` and ``grammar_for_output`` make them, for llama.cpp or for llguidance; ``unheld`` says
what of a schema is left to the gate.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.local.grammar.build import grammar_for, grammar_for_output, unheld

__all__ = ["grammar_for", "grammar_for_output", "unheld"]

lazily(__name__, dict.fromkeys(__all__, "local.grammar.build"))

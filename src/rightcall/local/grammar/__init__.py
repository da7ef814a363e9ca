"""Grammars: they restrict a raw model's text to valid calls, or to an answer of a given schema.

``grammar_for`` and ``grammar_for_output`` make them, for llama.cpp or for llguidance; ``unheld`` lists
what a grammar does not enforce of a schema, which the gate checks.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.local.grammar.build import grammar_for, grammar_for_output, unheld

__all__ = ["grammar_for", "grammar_for_output", "unheld"]

lazily(__name__, dict.fromkeys(__all__, "local.grammar.build"))

"""Grammars: they restrict a raw model's text to valid calls, or to an answer of a given schema.

``grammar_for`` and ``grammar_for_output`` make them, for llama.cpp or for llguidance; ``unheld`` lists
what a grammar does not enforce of a schema, which the gate checks.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.local.grammar.build import grammar_for as grammar_for
    from rightcall.local.grammar.build import grammar_for_output as grammar_for_output
    from rightcall.local.grammar.build import unheld as unheld

lazily(__name__, dict.fromkeys(("grammar_for", "grammar_for_output", "unheld"), "local.grammar.build"))

"""The token cost of a set of tools, a linter for their definitions, and what a catalogue is made of."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.core.tool import Spec as Spec
    from rightcall.declare.toolbox import Defer as Defer
    from rightcall.tools.lint_rules import lint as lint
    from rightcall.tools.skill_rules import lint_skills as lint_skills
    from rightcall.tools.token_cost import footprint as footprint

_HOMES = {
    "core.tool": ("Spec",),
    "declare.toolbox": ("Defer",),
    "tools.lint_rules": ("lint",),
    "tools.skill_rules": ("lint_skills",),
    "tools.token_cost": ("footprint",),
}
lazily(__name__, index_homes(_HOMES))

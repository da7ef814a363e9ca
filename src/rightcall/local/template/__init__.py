"""Chat templates: a model's own, rendered in a sandbox, and probed for what they support.

``read_template`` finds one in a GGUF file or a model's folder; ``probe`` returns its quirks.
"""

from typing import TYPE_CHECKING

from rightcall.core.extras import require
from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.local.template.chat_template import ChatTemplate
    from rightcall.local.template.probing import probe
    from rightcall.local.template.quirks import Quirks, Switch, neutralise, segments, set_reasoning
    from rightcall.local.template.render_bounds import Bounds
    from rightcall.local.template.template_file import read_template, template_of

__all__ = [
    "Bounds",
    "ChatTemplate",
    "Quirks",
    "Switch",
    "neutralise",
    "probe",
    "read_template",
    "segments",
    "set_reasoning",
    "template_of",
]

_HOMES = {
    "Bounds": "render_bounds",
    "ChatTemplate": "chat_template",
    "Quirks": "quirks",
    "Switch": "quirks",
    "neutralise": "quirks",
    "probe": "probing",
    "read_template": "template_file",
    "segments": "quirks",
    "set_reasoning": "quirks",
    "template_of": "template_file",
}

# Nothing in this package works without it.
require("jinja2")
lazily(__name__, {name: f"local.template.{home}" for name, home in _HOMES.items()})

"""Chat templates: a model's own, rendered in a sandbox, and probed for what they support.

``read_template`` finds one in a GGUF file or a model's folder; ``probe`` returns its quirks.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily
from rightcall.core.optional_libraries import require

if TYPE_CHECKING:
    from rightcall.local.template.chat_template import ChatTemplate as ChatTemplate
    from rightcall.local.template.quirks import Quirks as Quirks
    from rightcall.local.template.quirks import Switch as Switch
    from rightcall.local.template.quirks import neutralise as neutralise
    from rightcall.local.template.quirks import probe as probe
    from rightcall.local.template.quirks import segments as segments
    from rightcall.local.template.quirks import set_reasoning as set_reasoning
    from rightcall.local.template.rendering import Bounds as Bounds
    from rightcall.local.template.template_file import read_template as read_template
    from rightcall.local.template.template_file import template_of as template_of

_HOMES = {
    "Bounds": "rendering",
    "ChatTemplate": "chat_template",
    "Quirks": "quirks",
    "Switch": "quirks",
    "neutralise": "quirks",
    "probe": "quirks",
    "read_template": "template_file",
    "segments": "quirks",
    "set_reasoning": "quirks",
    "template_of": "template_file",
}

# Nothing in this package works without it.
require("jinja2")
lazily(__name__, {name: f"local.template.{home}" for name, home in _HOMES.items()})

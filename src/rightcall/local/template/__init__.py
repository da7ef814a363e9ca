"""Chat templates: a model's own, rendered in a sandbox, and found out by being tried.

``read_template`` finds one in a GGUF file or a model's folder; ``probe`` says what it takes.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.local.template.bounds import Bounds
    from rightcall.local.template.chat import ChatTemplate
    from rightcall.local.template.markers import neutralise, segments
    from rightcall.local.template.probe import probe
    from rightcall.local.template.quirks import Quirks
    from rightcall.local.template.source import read_template, template_of
    from rightcall.local.template.switches import Switch, set_reasoning

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
    "Bounds": "bounds",
    "ChatTemplate": "chat",
    "Quirks": "quirks",
    "Switch": "switches",
    "neutralise": "markers",
    "probe": "probe",
    "read_template": "source",
    "segments": "markers",
    "set_reasoning": "switches",
    "template_of": "source",
}

lazily(__name__, {name: f"local.template.{home}" for name, home in _HOMES.items()})

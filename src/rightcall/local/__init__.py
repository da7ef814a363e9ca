"""Raw models, in this process or another: chat templates, families, grammars and engines.

A raw model continues text. ``ChatTemplate`` renders the prompt, ``grammar_for`` restricts the reply to
valid calls, an engine generates it, and ``Reader`` parses it; ``LocalModel`` combines them.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.local.engine import Card, Engine, Finish, Grammar, Piece, Sampling
    from rightcall.local.engines.huggingface import HuggingFace
    from rightcall.local.engines.llama_server import LlamaServer
    from rightcall.local.engines.llamacpp import LlamaCpp, embedded_path
    from rightcall.local.engines.vllm import Vllm
    from rightcall.local.families.call_text import write
    from rightcall.local.families.family import Family
    from rightcall.local.families.known import FAMILIES, detect, named
    from rightcall.local.families.reader import Reader
    from rightcall.local.gguf import read_card
    from rightcall.local.grammar.build import grammar_for, grammar_for_output
    from rightcall.local.guided.guided_model import GuidedModel
    from rightcall.local.local_model import LocalModel
    from rightcall.local.prompt import render_prompt, visible
    from rightcall.local.template.chat_template import ChatTemplate
    from rightcall.local.template.probing import probe
    from rightcall.local.template.template_file import read_template

_HOMES = {
    "Card": "local.engine",
    "ChatTemplate": "local.template.chat_template",
    "Engine": "local.engine",
    "FAMILIES": "local.families.known",
    "Family": "local.families.family",
    "Finish": "local.engine",
    "Grammar": "local.engine",
    "GuidedModel": "local.guided.guided_model",
    "HuggingFace": "local.engines.huggingface",
    "LlamaCpp": "local.engines.llamacpp",
    "LlamaServer": "local.engines.llama_server",
    "LocalModel": "local.local_model",
    "Piece": "local.engine",
    "Reader": "local.families.reader",
    "Sampling": "local.engine",
    "Vllm": "local.engines.vllm",
    "detect": "local.families.known",
    "embedded_path": "local.engines.llamacpp",
    "grammar_for": "local.grammar.build",
    "grammar_for_output": "local.grammar.build",
    "named": "local.families.known",
    "probe": "local.template.probing",
    "read_card": "local.gguf",
    "read_template": "local.template.template_file",
    "render_prompt": "local.prompt",
    "visible": "local.prompt",
    "write": "local.families.call_text",
}
__all__ = [
    "FAMILIES",
    "Card",
    "ChatTemplate",
    "Engine",
    "Family",
    "Finish",
    "Grammar",
    "GuidedModel",
    "HuggingFace",
    "LlamaCpp",
    "LlamaServer",
    "LocalModel",
    "Piece",
    "Reader",
    "Sampling",
    "Vllm",
    "detect",
    "embedded_path",
    "grammar_for",
    "grammar_for_output",
    "named",
    "probe",
    "read_card",
    "read_template",
    "render_prompt",
    "visible",
    "write",
]

lazily(__name__, _HOMES)

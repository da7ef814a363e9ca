"""Raw models, in this process or another: chat templates, families, grammars and engines.

A raw model continues text. ``ChatTemplate`` renders the prompt, ``grammar_for`` restricts the reply to
valid calls, an engine generates it, and ``Reader`` parses it; ``LocalModel`` combines them.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.local.engine import Card as Card
    from rightcall.local.engine import Engine as Engine
    from rightcall.local.engine import Finish as Finish
    from rightcall.local.engine import Grammar as Grammar
    from rightcall.local.engine import Piece as Piece
    from rightcall.local.engine import Sampling as Sampling
    from rightcall.local.engines.huggingface import HuggingFace as HuggingFace
    from rightcall.local.engines.llama_server import LlamaServer as LlamaServer
    from rightcall.local.engines.llamacpp import LlamaCpp as LlamaCpp
    from rightcall.local.engines.llamacpp import embedded_path as embedded_path
    from rightcall.local.engines.vllm import Vllm as Vllm
    from rightcall.local.families.call_text import write as write
    from rightcall.local.families.family import Family as Family
    from rightcall.local.families.family_list import FAMILIES as FAMILIES
    from rightcall.local.families.family_list import detect as detect
    from rightcall.local.families.family_list import find_family as find_family
    from rightcall.local.families.reader import Reader as Reader
    from rightcall.local.gguf import read_card as read_card
    from rightcall.local.grammar.build import grammar_for as grammar_for
    from rightcall.local.grammar.build import grammar_for_output as grammar_for_output
    from rightcall.local.guided.guided_model import GuidedModel as GuidedModel
    from rightcall.local.local_model import LocalModel as LocalModel
    from rightcall.local.prompt import render_prompt as render_prompt
    from rightcall.local.prompt import visible as visible
    from rightcall.local.template.chat_template import ChatTemplate as ChatTemplate
    from rightcall.local.template.quirks import probe as probe
    from rightcall.local.template.template_file import read_template as read_template

_HOMES = {
    "local.engine": ("Card", "Engine", "Finish", "Grammar", "Piece", "Sampling"),
    "local.engines.huggingface": ("HuggingFace",),
    "local.engines.llama_server": ("LlamaServer",),
    "local.engines.llamacpp": ("LlamaCpp", "embedded_path"),
    "local.engines.vllm": ("Vllm",),
    "local.families.call_text": ("write",),
    "local.families.family": ("Family",),
    "local.families.family_list": ("FAMILIES", "detect", "find_family"),
    "local.families.reader": ("Reader",),
    "local.gguf": ("read_card",),
    "local.grammar.build": ("grammar_for", "grammar_for_output"),
    "local.guided.guided_model": ("GuidedModel",),
    "local.local_model": ("LocalModel",),
    "local.prompt": ("render_prompt", "visible"),
    "local.template.chat_template": ("ChatTemplate",),
    "local.template.quirks": ("probe",),
    "local.template.template_file": ("read_template",),
}

lazily(__name__, index_homes(_HOMES))

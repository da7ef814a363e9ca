"""A chat template's text, or a name, into the family it belongs to."""

import difflib
import re
from collections.abc import Mapping

from rightcall.errors import UsageError
from rightcall.local.families.family import Family
from rightcall.local.families.known.expressions import EXPRESSIONS
from rightcall.local.families.known.named import NAMED
from rightcall.local.families.known.objects import GENERIC, OBJECTS
from rightcall.local.families.known.tagged import TAGGED

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (*OBJECTS, *NAMED, *TAGGED, *EXPRESSIONS)
}

ORDER: tuple[str, ...] = (
    # Markers that only one family has.
    "gemma4", "functiongemma", "harmony", "muse_glimmer", "inkling", "kimi_k3", "kimi_k2", "solar",
    "minimax_m3", "minimax_m2", "seed_oss", "step3", "dots", "longcat", "apertus", "lfm2",
    "internlm2", "command_r7b", "nemotron_v2", "gigachat31", "gigachat3", "hy_v3_opensource",
    # Two markers of which several families share one: those that need both come first.
    "deepseek_v32", "deepseek_v4", "deepseek_v3", "deepseek_v31", "mistral", "mistral_json",
    "minicpm5", "qwen3_coder", "hy_v3", "glm", "functionary_v32", "functionary_v31",
    "functools", "granite3", "granite_20b_fc", "apriel", "minimax_m1", "hunyuan", "xlam",
    "ernie45", "olmo3", "pythonic", "llama4", "command_r",
    # Markers that many templates mention.
    "jamba", "hermes", "llama3",
)  # fmt: skip
"""In which order the signs are looked for: the most specific first."""

ALIASES: Mapping[str, str] = {
    "apertus2509": "apertus",
    "cohere": "command_r7b",
    "cohere2": "command_r7b",
    "cohere_command": "command_r7b",
    "cohere_command3": "command_r7b",
    "cohere_command4": "command_r7b",
    "command_r_plus": "command_r",
    "deepseek_r1": "deepseek_v3",
    "ernie45_moe": "ernie45",
    "firefunction": "functools",
    "firefunction_v2": "functools",
    "functionary": "functionary_v32",
    "gemma": "gemma4",
    "gigachat": "gigachat3",
    "glm4": "glm",
    "glm45": "glm",
    "glm46": "glm",
    "glm47": "glm",
    "glm4_moe": "glm",
    "glm47_moe": "glm",
    "gpt_oss": "harmony",
    "granite": "granite3",
    "granite4": "hermes",
    "hunyuan_a13b": "hunyuan",
    "hy3": "hy_v3",
    "internlm": "internlm2",
    "interns1": "internlm2",
    "json": "generic",
    "kimi": "kimi_k2",
    "lfm25": "lfm2",
    "ling3": "glm",
    "llama": "llama3",
    "llama31": "llama3",
    "llama32": "llama3",
    "llama33": "llama3",
    "llama3_json": "llama3",
    "llama4_json": "llama3",
    "llama4_pythonic": "llama4",
    "mimo": "hermes",
    "minicpm5_xml": "minicpm5",
    "minicpm5xml": "minicpm5",
    "minimax": "minimax_m1",
    "ministral3": "mistral",
    "muse": "muse_glimmer",
    "nemotron_v3": "qwen3_coder",
    "nemotron3": "qwen3_coder",
    "openai": "harmony",
    "phi4": "functools",
    "phi4_mini": "functools",
    "phi4_mini_json": "functools",
    "poolside": "glm",
    "poolside_v1": "glm",
    "qwen": "hermes",
    "qwen25": "hermes",
    "qwen3": "hermes",
    "qwen35": "qwen3_coder",
    "qwen3_xml": "qwen3_coder",
    "qwq": "hermes",
    "reka": "hermes",
    "smollm3": "hermes",
    "step3p5": "qwen3_coder",
    "stepfun": "qwen3_coder",
    "trinity": "hermes",
}
"""Other names by which a format goes, in model names and in other runtimes' options."""


def detect(template: str) -> Family:
    """The family whose markers a chat template's text contains; the generic one when it has none."""
    for name in ORDER:
        family = FAMILIES[name]
        if any(all(sign in template for sign in signs) for signs in family.signs):
            return family
    return GENERIC


def named(name: str) -> Family:
    """The family of a name, whatever its case and punctuation."""
    folded = _fold(name)
    found = _FOLDED.get(folded)
    if found is not None:
        return FAMILIES[found]
    near = difflib.get_close_matches(folded, _FOLDED, n=1)
    hint = f"did you mean {_FOLDED[near[0]]!r}?" if near else f"known are {', '.join(sorted(FAMILIES))}"
    raise UsageError(f"there is no model family {name!r}; {hint}")


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_FOLDED: Mapping[str, str] = {
    **{_fold(alias): name for alias, name in ALIASES.items()},
    **{_fold(name): name for name in FAMILIES},
}

"""What models of 56 chat templates wrote, and what it means, at every cut."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.families.replies import cuts, loaded, read
from rightcall.core.message import Reasoning
from rightcall.core.parts import Call, Text
from rightcall.core.tool import Spec
from rightcall.local.families.family_list import find_family

FAMILY_OF = {
    "Apertus-8B-Instruct": "apertus",
    "Apriel-1.6-15b-Thinker-fixed": "apriel",
    "ByteDance-Seed-OSS": "seed_oss",
    "Cohere2MoE": "command_r7b",
    "CohereForAI-c4ai-command-r-plus-tool_use": "command_r",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": "command_r7b",
    "GLM-4.6": "glm",
    "GLM-4.7-Flash": "glm",
    "GigaChat3-10B-A1.8B": "gigachat3",
    "GigaChat3.1-10B-A1.8B": "gigachat31",
    "Kimi-K2-Instruct": "kimi_k2",
    "Kimi-K2-Thinking": "kimi_k2",
    "Kimi-K3": "kimi_k3",
    "LFM2-8B-A1B": "lfm2",
    "LFM2.5-8B-A1B": "lfm2",
    "LFM2.5-Instruct": "lfm2",
    "MiMo-VL": "hermes",
    "MiniMax-M2": "minimax_m2",
    "MiniMax-M3": "minimax_m3",
    "Mistral-Small-3.2-24B-Instruct-2506": "mistral",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "qwen3_coder",
    "NVIDIA-Nemotron-Nano-v2": "nemotron_v2",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "hermes",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": "hermes",
    "Qwen-QwQ-32B": "hermes",
    "Qwen-Qwen2.5-7B-Instruct": "hermes",
    "Qwen3-Coder": "qwen3_coder",
    "Qwen3.5-4B": "qwen3_coder",
    "Reka-Edge": "hermes",
    "StepFun3.5-Flash": "qwen3_coder",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek_v3",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "deepseek_v3",
    "deepseek-ai-DeepSeek-V3.1": "deepseek_v31",
    "deepseek-ai-DeepSeek-V3.2": "deepseek_v32",
    "deepseek-ai-DeepSeek-V4-Flash-0731": "deepseek_v4",
    "deepseek-ai-DeepSeek-V4": "deepseek_v4",
    "fireworks-ai-llama-3-firefunction-v2": "functools",
    "google-gemma-2-2b-it": "generic",
    "google-gemma-4-31B-it": "gemma4",
    "ibm-granite-granite-3.3-2B-Instruct": "granite3",
    "ibm-granite-granite-4.0": "hermes",
    "ibm-granite-granite-4.1": "hermes",
    "llama-cpp-deepseek-r1": "deepseek_v3",
    "meetkai-functionary-medium-v3.1": "functionary_v31",
    "meetkai-functionary-medium-v3.2": "functionary_v32",
    "meta-llama-Llama-3.1-8B-Instruct": "llama3",
    "meta-llama-Llama-3.2-3B-Instruct": "llama3",
    "meta-llama-Llama-3.3-70B-Instruct": "llama3",
    "mistralai-Ministral-3-14B-Reasoning-2512": "mistral",
    "mistralai-Mistral-Nemo-Instruct-2407": "mistral_json",
    "moonshotai-Kimi-K2": "kimi_k2",
    "muse-glimmer": "muse_glimmer",
    "openai-gpt-oss-120b": "harmony",
    "openbmb-MiniCPM5-1B": "minicpm5",
    "unsloth-Apriel-1.5": "jamba",
    "unsloth-mistral-Devstral-Small-2507": "mistral",
}


def reply(case: dict[str, Any], pieces: list[str]) -> tuple[Any, ...]:
    specs = tuple(Spec(**tool) for tool in case["tools"])
    return read(
        find_family(FAMILY_OF[case["template"].removesuffix(".jinja")]),
        pieces,
        specs,
        tail=case["generation_prompt"],
        reasoning=case["reasoning_format"] != "none",
        fenced=bool(case["json_schema"]),
    )


def check(case: dict[str, Any], parts: tuple[Any, ...]) -> None:
    expected = case["expect"]
    text = "".join(part.text for part in parts if isinstance(part, Text))
    thought = "".join(part.text for part in parts if isinstance(part, Reasoning))
    calls = [part for part in parts if isinstance(part, Call)]
    assert text.strip() == (expected.get("content") or "").strip()
    assert thought.strip() == (expected.get("reasoning_content") or "").strip()
    wanted = expected.get("tool_calls") or []
    assert [(call.name, call.id) for call in calls] == [(c["name"], c.get("id") or "") for c in wanted]
    for call, one in zip(calls, wanted, strict=True):
        assert call.truncated == case["is_partial"]
        if case["is_partial"]:
            assert call.arguments.replace(" ", "") == one["arguments"].replace(" ", "")
        else:
            assert loaded(call.arguments) == json.loads(one["arguments"])


@pytest.mark.parametrize("template", FAMILY_OF)
def test_recorded_replies_mean_what_they_should_at_every_cut(template: str, shared_data: Path):
    lines = (shared_data / "families" / "parse.jsonl").read_text().splitlines()
    cases = [case for case in map(json.loads, lines) if case["template"] == f"{template}.jinja"]
    assert cases
    for case in cases:
        whole = reply(case, [case["input"]])
        check(case, whole)
        for pieces in cuts(case["input"]):
            assert reply(case, pieces) == whole, pieces


def test_no_recorded_template_is_left_out(shared_data: Path):
    lines = (shared_data / "families" / "parse.jsonl").read_text().splitlines()
    assert {json.loads(line)["template"].removesuffix(".jinja") for line in lines} == set(FAMILY_OF)

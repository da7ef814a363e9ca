"""Families that write the name before JSON arguments."""

# ruff: noqa: RUF001 - the markers are written as the models write them

from rightcall.local.families.family import Channels, Family, Markers, NamedForm
from rightcall.local.families.known.objects import LLAMA, THINK

MISTRAL = Family(
    name="mistral",
    form=NamedForm(marks=(("[ARGS]", "arguments"), ("[CALL_ID]", "id"))),
    section=Markers(("[TOOL_CALLS]",)),
    parallel="sections",
    ids="written",
    id_pattern="[A-Za-z0-9]{9}",
    thoughts=Markers(("[THINK]",), ("[/THINK]",)),
    thinking="marked",
    turn=("[/INST]", "[/TOOL_RESULTS]"),
    ends=("</s>",),
    signs=(("[TOOL_CALLS]", "[ARGS]"),),
)

_DEEPSEEK = Markers(("<｜tool▁calls▁begin｜>", "<｜tool▁calls｜>"), ("<｜tool▁calls▁end｜>",))
_ASSISTANT = "<｜Assistant｜>"
_END = "<｜end▁of▁sentence｜>"

DEEPSEEK_V3 = Family(
    name="deepseek_v3",
    form=NamedForm(
        first="kind",
        kind="function",
        marks=(
            ("<｜tool▁sep｜>", "name"),
            ("\n```json\n", "arguments"),
            ("\n```json", "arguments"),
            ("```json", "arguments"),
        ),
    ),
    section=_DEEPSEEK,
    call=Markers(
        ("<｜tool▁call▁begin｜>",),
        ("\n```<｜tool▁call▁end｜>", "```<｜tool▁call▁end｜>", "<｜tool▁call▁end｜>", "```"),
    ),
    separator="\n",
    thoughts=THINK,
    thinking="marked",
    turn=(_ASSISTANT,),
    ends=(_END,),
    signs=(("<｜tool▁calls▁begin｜>", "```json"),),
)

DEEPSEEK_V31 = Family(
    name="deepseek_v31",
    form=NamedForm(marks=(("<｜tool▁sep｜>", "arguments"),)),
    section=_DEEPSEEK,
    call=Markers(("<｜tool▁call▁begin｜>",), ("<｜tool▁call▁end｜>",)),
    thoughts=THINK,
    thinking="marked",
    turn=(_ASSISTANT,),
    ends=(_END,),
    signs=(("<｜tool▁calls▁begin｜>",),),
)

KIMI_K2 = Family(
    name="kimi_k2",
    form=NamedForm(
        marks=(("<|tool_call_argument_begin|>", "arguments"),), prefix="functions.", is_numbered=True
    ),
    section=Markers(
        ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        ("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
    ),
    call=Markers(("<|tool_call_begin|>",), ("<|tool_call_end|>",)),
    ids="written",
    id_pattern=r"functions\..+:[0-9]+",
    thoughts=THINK,
    thinking="marked",
    calls_in_thoughts=True,
    turn=("<|im_assistant|>assistant<|im_middle|>",),
    ends=("<|im_end|>", "[EOS]"),
    signs=(("<|tool_calls_section_begin|>",),),
)

SOLAR = Family(
    name="solar",
    form=NamedForm(
        first="id", marks=(("<|tool_call:name|>", "name"), ("<|tool_call:args|>", "arguments"))
    ),
    section=Markers(("<|tool_calls|>",), ("<|calls|>",)),
    call=Markers(("<|tool_call:begin|>",), ("<|tool_call:end|>",)),
    ids="written",
    id_pattern="[a-z0-9]{10}",
    thoughts=Markers(("<|think|>",), ("<|end|>",)),
    thinking="marked",
    wrappers=("<|begin|>assistant", "<|content|>", "<|end|>"),
    turn=("<|begin|>assistant",),
    ends=("<|flush|>",),
    signs=(("<|tool_call:begin|>",),),
)

FUNCTIONARY_V31 = Family(
    name="functionary_v31",
    form=NamedForm(marks=((">", "arguments"),)),
    call=Markers(("<function=",), ("</function>",)),
    turn=(LLAMA,),
    ends=("<|eot_id|>", "<|eom_id|>"),
    signs=(("<function=", "<|start_header_id|>"), ("<function=example_function_name>",)),
)

FUNCTIONARY_V32 = Family(
    name="functionary_v32",
    form=NamedForm(marks=(("\n", "arguments"),), text_name="all"),
    call=Markers((">>>",)),
    turn=(LLAMA,),
    ends=("<|eot_id|>", "<|eom_id|>"),
    signs=((">>>all",),),
)

HARMONY = Family(
    name="harmony",
    form=NamedForm(marks=(("<|message|>", "arguments"),), prefix="functions."),
    call=Markers(close=("<|call|>",)),
    thinking="marked",
    channels=Channels(
        start="<|start|>",
        channel="<|channel|>",
        constrain="<|constrain|>",
        message="<|message|>",
        ends=("<|call|>", "<|end|>", "<|return|>"),
        thoughts=("analysis",),
        nobody=("assistant", "user", "all"),
        prefix="functions.",
        hosted=("python", "browser", "container"),
    ),
    turn=("<|start|>assistant",),
    signs=(("<|channel|>", "<|message|>", "analysis"),),
)

NAMED = (
    MISTRAL, DEEPSEEK_V3, DEEPSEEK_V31, KIMI_K2, SOLAR, FUNCTIONARY_V31, FUNCTIONARY_V32, HARMONY,
)  # fmt: skip

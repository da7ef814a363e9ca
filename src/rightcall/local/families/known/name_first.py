"""Families that write the name before the arguments: JSON, or an expression as in Python or Gemma."""

# ruff: noqa: RUF001 - the markers are written as the models write them

from rightcall.local.families.family import Channels, Family, GemmaForm, Markers, NamedForm, PythonForm
from rightcall.local.families.known.json_calls import CHATML, LLAMA, THINK

MISTRAL = Family(
    name="mistral",
    aliases=("ministral3",),
    rank=14,
    form=NamedForm(marks=(("[ARGS]", "arguments"), ("[CALL_ID]", "id"))),
    section=Markers(("[TOOL_CALLS]",)),
    parallel="sections",
    ids="written",
    id_pattern="[A-Za-z0-9]{9}",
    thoughts=Markers(("[THINK]",), ("[/THINK]",)),
    turn=("[/INST]", "[/TOOL_RESULTS]"),
    ends=("</s>",),
    signs=(("[TOOL_CALLS]", "[ARGS]"),),
)

_DEEPSEEK = Markers(("<｜tool▁calls▁begin｜>", "<｜tool▁calls｜>"), ("<｜tool▁calls▁end｜>",))
_ASSISTANT = "<｜Assistant｜>"
_END = "<｜end▁of▁sentence｜>"

DEEPSEEK_V3 = Family(
    name="deepseek_v3",
    aliases=("deepseek_r1",),
    rank=12,
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
    turn=(_ASSISTANT,),
    ends=(_END,),
    signs=(("<｜tool▁calls▁begin｜>", "```json"),),
)

DEEPSEEK_V31 = Family(
    name="deepseek_v31",
    rank=13,
    form=NamedForm(marks=(("<｜tool▁sep｜>", "arguments"),)),
    section=_DEEPSEEK,
    call=Markers(("<｜tool▁call▁begin｜>",), ("<｜tool▁call▁end｜>",)),
    thoughts=THINK,
    turn=(_ASSISTANT,),
    ends=(_END,),
    signs=(("<｜tool▁calls▁begin｜>",),),
)

KIMI_K2 = Family(
    name="kimi_k2",
    aliases=("kimi",),
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
    wrappers=("<|begin|>assistant", "<|content|>", "<|end|>"),
    turn=("<|begin|>assistant",),
    ends=("<|flush|>",),
    signs=(("<|tool_call:begin|>",),),
)

FUNCTIONARY_V31 = Family(
    name="functionary_v31",
    rank=21,
    form=NamedForm(marks=((">", "arguments"),)),
    call=Markers(("<function=",), ("</function>",)),
    turn=(LLAMA,),
    ends=("<|eot_id|>", "<|eom_id|>"),
    signs=(("<function=", "<|start_header_id|>"), ("<function=example_function_name>",)),
)

FUNCTIONARY_V32 = Family(
    name="functionary_v32",
    aliases=("functionary",),
    rank=20,
    form=NamedForm(marks=(("\n", "arguments"),), text_name="all"),
    call=Markers((">>>",)),
    turn=(LLAMA,),
    ends=("<|eot_id|>", "<|eom_id|>"),
    signs=((">>>all",),),
)

HARMONY = Family(
    name="harmony",
    aliases=("gpt_oss", "openai"),
    form=NamedForm(marks=(("<|message|>", "arguments"),), prefix="functions."),
    call=Markers(close=("<|call|>",)),
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

LLAMA4 = Family(
    name="llama4",
    aliases=("llama4_pythonic",),
    rank=32,
    form=PythonForm(),
    section=Markers(("<|python_start|>",), ("<|python_end|>",)),
    separator=", ",
    is_bare=True,
    turn=("<|header_start|>assistant<|header_end|>\n\n",),
    ends=("<|eot|>", "<|eom|>"),
    signs=(("<|python_start|>",), ("<|header_start|>",)),
)

LFM2 = Family(
    name="lfm2",
    aliases=("lfm25",),
    form=PythonForm(),
    section=Markers(("<|tool_call_start|>",), ("<|tool_call_end|>",)),
    separator=", ",
    thoughts=THINK,
    turn=(CHATML,),
    ends=("<|im_end|>",),
    signs=(
        ("<|tool_call_start|>",),
        ("<|tool_list_start|>",),
        ("List of tools: ", "keep_past_thinking"),
    ),
)

OLMO3 = Family(
    name="olmo3",
    rank=30,
    form=PythonForm(is_list=False),
    section=Markers(("<function_calls>",), ("</function_calls>",)),
    separator="\n",
    thoughts=THINK,
    turn=(CHATML,),
    ends=("<|im_end|>", "<|endoftext|>"),
    signs=(("<function_calls>",),),
)

PYTHONIC = Family(
    name="pythonic",
    rank=31,
    form=PythonForm(),
    section=Markers(("<|python_tag|>", "<|python_start|>"), ("<|python_end|>",)),
    separator=", ",
    is_bare=True,
    turn=(LLAMA, "<start_of_turn>model\n"),
    ends=("<|eot_id|>", "<|eom_id|>", "<end_of_turn>"),
    signs=(("[func_name1(params_name1=",), ("[func1(params_name1=",), ("pythonic",)),
)

GEMMA4 = Family(
    name="gemma4",
    aliases=("gemma",),
    form=GemmaForm(quote='<|"|>'),
    call=Markers(("<|tool_call>call:",), ("<tool_call|>",)),
    thoughts=Markers(("<|channel>thought", "<|channel>"), ("<channel|>",)),
    calls_in_thoughts=True,
    wrappers=("<|channel>", "<channel|>"),
    turn=("<|turn>model\n",),
    ends=("<turn|>", "<|tool_response>"),
    signs=(("<|tool_call>",),),
)

FUNCTION_GEMMA = Family(
    name="functiongemma",
    form=GemmaForm(quote="<escape>"),
    call=Markers(("<start_function_call>call:",), ("<end_function_call>",)),
    turn=("<start_of_turn>model\n",),
    ends=("<end_of_turn>", "<start_function_response>"),
    signs=(("<start_function_call>",),),
)

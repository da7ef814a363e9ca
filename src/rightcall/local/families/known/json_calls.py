"""Families whose calls are JSON objects with the name inside."""

# ruff: noqa: RUF001 - the markers are written as the models write them

from msgspec.structs import replace

from rightcall.local.families.family import Family, JsonForm, Markers

THINK = Markers(("<think>",), ("</think>",))
CHATML = "<|im_start|>assistant\n"
LLAMA = "<|start_header_id|>assistant<|end_header_id|>\n\n"
COHERE = "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"

HERMES = Family(
    name="hermes",
    aliases=("granite4", "mimo", "qwen", "qwen25", "qwen3", "qwq", "reka", "smollm3", "trinity"),
    rank=91,
    form=JsonForm(),
    section=Markers(("<tool_call>",), ("</tool_call>",)),
    inner="\n",
    separator="\n",
    parallel="sections",
    thoughts=THINK,
    turn=(CHATML, LLAMA, "<|start_of_role|>assistant<|end_of_role|>", "assistant:", "<|assistant|>\n"),
    ends=("<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>"),
    signs=(("<tool_call>",),),
)

GENERIC = Family(
    name="generic",
    aliases=("json",),
    form=JsonForm(),
    section=Markers(("<tool_call>", "```json", "```"), ("</tool_call>", "```")),
    inner="\n",
    separator="\n",
    parallel="sections",
    is_bare=True,
    thoughts=THINK,
    turn=(
        CHATML,
        LLAMA,
        "<start_of_turn>model\n",
        "<|assistant|>\n",
        "<|start_of_role|>assistant<|end_of_role|>",
        "<|header_start|>assistant<|header_end|>\n\n",
        "[/INST]",
    ),
    ends=("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<end_of_turn>", "<|end|>"),
    shows_specs="ours",
)

LLAMA3 = Family(
    name="llama3",
    aliases=("llama", "llama31", "llama32", "llama33", "llama3_json", "llama4_json"),
    rank=92,
    # Meta's prompt format for 3.1 to 3.3: "parameters", and <|python_tag|> before a call in the
    # environment that has a code interpreter.
    form=JsonForm(arguments_keys=("parameters", "arguments")),
    section=Markers(("<|python_tag|>",)),
    separator="; ",
    parallel="none",
    is_bare=True,
    turn=(LLAMA,),
    ends=("<|eot_id|>", "<|eom_id|>"),
    signs=(("<|python_tag|>",), ("<|start_header_id|>", '"parameters": dictionary of argument name')),
)

MISTRAL_JSON = Family(
    name="mistral_json",
    rank=15,
    form=JsonForm(is_array=True),
    section=Markers(("[TOOL_CALLS]",)),
    separator=", ",
    ids="written",
    id_pattern="[A-Za-z0-9]{9}",
    thoughts=Markers(("[THINK]",), ("[/THINK]",)),
    turn=("[/INST]", "[/TOOL_RESULTS]"),
    ends=("</s>",),
    signs=(("[TOOL_CALLS]",),),
)

COMMAND_R = Family(
    name="command_r",
    aliases=("command_r_plus",),
    rank=33,
    form=JsonForm(
        name_keys=("tool_name", "name"), arguments_keys=("parameters", "arguments"), is_array=True
    ),
    section=Markers(("Action:\n```json\n", "Action:", "```json"), ("\n```", "```")),
    separator=",\n",
    turn=(COHERE,),
    wrappers=("<|CHATBOT_TOKEN|>",),
    ends=("<|END_OF_TURN_TOKEN|>",),
    signs=(("Action:", "tool_name"),),
)

COHERE2 = Family(
    name="command_r7b",
    aliases=("cohere", "cohere2", "cohere_command", "cohere_command3", "cohere_command4"),
    form=JsonForm(
        name_keys=("tool_name", "name"),
        arguments_keys=("parameters", "arguments"),
        id_keys=("tool_call_id",),
        is_id_first=True,
        is_array=True,
    ),
    section=Markers(("<|START_ACTION|>",), ("<|END_ACTION|>",)),
    inner="\n",
    separator=",\n",
    ids="written",
    id_pattern="[0-9]+",
    thoughts=Markers(("<|START_THINKING|>",), ("<|END_THINKING|>",)),
    wrappers=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    citations=Markers(("<co>",), ("</co: ",)),
    turn=(COHERE,),
    ends=("<|END_OF_TURN_TOKEN|>",),
    signs=(("<|START_ACTION|>",),),
)

GRANITE3 = Family(
    name="granite3",
    aliases=("granite",),
    rank=23,
    form=JsonForm(is_array=True),
    section=Markers(("<|tool_call|>", "<tool_call>"), ("</tool_call>",)),
    separator=", ",
    thoughts=Markers(
        ("<think>", "Here is my thought process:", "Here's my thought process:"),
        ("</think>", "Here is my response:", "Here's my response:"),
    ),
    wrappers=("<response>", "</response>"),
    turn=("<|start_of_role|>assistant<|end_of_role|>",),
    ends=("<|end_of_text|>",),
    signs=(("<|tool_call|>", "<|start_of_role|>"), ("<|start_of_role|>", "Here is my thought process:")),
)

GRANITE_20B = Family(
    name="granite_20b_fc",
    rank=24,
    form=JsonForm(),
    section=Markers(("<function_call>",), ("</function_call>",)),
    separator=" ",
    parallel="sections",
    turn=("Assistant:", "ASSISTANT:"),
    ends=("<|endoftext|>",),
    signs=(("<function_call>", "name"),),
)

FUNCTOOLS = Family(
    name="functools",
    aliases=("firefunction", "firefunction_v2", "phi4", "phi4_mini", "phi4_mini_json"),
    rank=22,
    form=JsonForm(is_array=True),
    section=Markers(("functools", "<|tool_call|>"), ("<|/tool_call|>",)),
    separator=", ",
    thoughts=THINK,
    turn=(LLAMA, "<|assistant|>", "<|im_start|>assistant<|im_sep|>"),
    ends=("<|eot_id|>", "<|end|>", "<|endoftext|>", "<|im_end|>"),
    signs=(("functools[",), ("<|tool_call|>", "<|/tool_call|>"), ("<|tool|>", "<|/tool|>")),
)

NEMOTRON_V2 = Family(
    name="nemotron_v2",
    form=JsonForm(is_array=True),
    section=Markers(("<TOOLCALL>",), ("</TOOLCALL>",)),
    separator=", ",
    thoughts=THINK,
    turn=("<SPECIAL_11>Assistant\n", "<extra_id_1>Assistant\n"),
    ends=("<SPECIAL_12>", "<SPECIAL_11>"),
    signs=(("<TOOLCALL>",),),
)

TOOL_CALLS = Family(
    name="jamba",
    rank=90,
    form=JsonForm(is_array=True),
    section=Markers(("<tool_calls>",), ("</tool_calls>",)),
    separator=",\n",
    thoughts=THINK,
    turn=("<|assistant|>\n", "<|bom|><|assistant|>"),
    ends=("<|end|>", "<|eom|>", "<|endoftext|>"),
    signs=(("<tool_calls>",),),
)

APRIEL = Family(
    name="apriel",
    rank=25,
    form=JsonForm(is_array=True),
    section=Markers(("<tool_calls>",), ("</tool_calls>",)),
    separator=", ",
    # The prompt opens the thoughts with words; no other marker begins them.
    thoughts=Markers((), ("[BEGIN FINAL RESPONSE]",)),
    thinking="opened",
    wrappers=("[END FINAL RESPONSE]",),
    turn=("<|begin_assistant|>\n",),
    ends=("<|end|>",),
    signs=(("[BEGIN FINAL RESPONSE]", "<|begin_assistant|>"),),
)

HUNYUAN = Family(
    name="hunyuan",
    aliases=("hunyuan_a13b",),
    rank=27,
    form=JsonForm(is_array=True),
    section=Markers(("<tool_calls>",), ("</tool_calls>",)),
    separator=", ",
    thoughts=THINK,
    wrappers=("<answer>", "</answer>"),
    turn=("<|extra_0|>", "<｜hy_Assistant｜>"),
    ends=("<|eos|>", "<|endoftext|>"),
    signs=(("<tool_calls>", "<|extra_0|>"), ("<tool_calls>", "<answer>")),
)

MINIMAX_M1 = Family(
    name="minimax_m1",
    aliases=("minimax",),
    rank=26,
    form=JsonForm(),
    section=Markers(("<tool_calls>",), ("</tool_calls>",)),
    inner="\n",
    separator="\n",
    thoughts=THINK,
    turn=("<beginning_of_sentence>ai name=assistant\n",),
    ends=("<end_of_sentence>",),
    signs=(("<tool_calls>", "<beginning_of_sentence>"),),
)

XLAM = Family(
    name="xlam",
    rank=28,
    form=JsonForm(is_array=True),
    section=Markers(("[TOOL_CALLS]", "<tool_call>", "```json", "```"), ("</tool_call>", "```")),
    separator=", ",
    is_bare=True,
    thoughts=THINK,
    turn=(CHATML, LLAMA),
    ends=("<|im_end|>", "<|eot_id|>"),
    signs=(("xLAM",), ('"tool_calls"', "[BEGIN OF TASK INSTRUCTION]")),
)

INTERNLM2 = Family(
    name="internlm2",
    aliases=("internlm", "interns1"),
    form=JsonForm(arguments_keys=("parameters", "arguments")),
    section=Markers(("<|action_start|><|plugin|>",), ("<|action_end|>",)),
    inner="\n",
    separator="\n",
    parallel="none",
    thoughts=THINK,
    turn=(CHATML,),
    ends=("<|im_end|>",),
    signs=(("<|action_start|>",),),
)

ERNIE45 = Family(
    name="ernie45",
    aliases=("ernie45_moe",),
    rank=29,
    form=JsonForm(),
    section=Markers(("<tool_call>",), ("</tool_call>",)),
    inner="\n",
    separator="\n",
    parallel="sections",
    thoughts=THINK,
    thinking="opened",
    wrappers=("<response>", "</response>"),
    turn=(CHATML, "Assistant: "),
    ends=("<|im_end|>", "</s>", "<|end_of_sentence|>"),
    signs=(("<tool_call>", "<response>"),),
)

LONGCAT = Family(
    name="longcat",
    form=JsonForm(),
    section=Markers(("<longcat_tool_call>",), ("</longcat_tool_call>",)),
    inner="\n",
    separator="\n",
    parallel="sections",
    thoughts=Markers(("<longcat_think>", "<think>"), ("</longcat_think>", "</think>")),
    turn=(" ASSISTANT:",),
    ends=("</longcat_s>",),
    signs=(("<longcat_tool_call>",),),
)

_GIGACHAT = ("<|message_sep|>\n\nfunction call<|role_sep|>\n", "function call<|role_sep|>\n")

GIGACHAT = Family(
    name="gigachat3",
    aliases=("gigachat",),
    rank=1,
    form=JsonForm(),
    section=Markers((*_GIGACHAT, "<|function_call|>")),
    parallel="none",
    turn=("assistant<|role_sep|>\n",),
    ends=("<|message_sep|>", "</s>"),
    signs=(("function call<|role_sep|>",), ("<|role_sep|>", "function call")),
)

GIGACHAT31 = replace(
    GIGACHAT,
    name="gigachat31",
    aliases=(),
    rank=0,
    section=Markers(("<|function_call|>", *_GIGACHAT)),
    signs=(("<|function_call|>",),),
)

APERTUS = Family(
    name="apertus",
    aliases=("apertus2509",),
    form=JsonForm(is_array=True, is_keyed=True),
    section=Markers(("<|tools_prefix|>",), ("<|tools_suffix|>",)),
    separator=", ",
    thoughts=Markers(("<|inner_prefix|>",), ("<|inner_suffix|>",)),
    turn=("<|assistant_start|>",),
    ends=("<|assistant_end|>",),
    signs=(("<|tools_prefix|>",),),
)

INKLING = Family(
    name="inkling",
    form=JsonForm(arguments_keys=("args", "arguments")),
    section=Markers(("<|content_invoke_tool_json|>",), ("<|end_message|>",)),
    parallel="sections",
    thoughts=Markers(("<|content_thinking|>",), ("<|end_message|>",)),
    # Its messages have a head: one to a tool is no thought, whatever was left open before it.
    calls_in_thoughts=True,
    authors=("<|message_model|>",),
    wrappers=(
        "<|message_model|>",
        "<|content_text|>",
        "<|content_invoke_tool_text|>",
        "<|content_tool_error|>",
        "<|end_message|>",
    ),
    turn=("<|message_model|>",),
    ends=("<|content_model_end_sampling|>",),
    signs=(("<|content_invoke_tool_json|>",),),
)

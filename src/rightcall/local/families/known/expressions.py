"""Families that write calls as expressions: Python's, or Gemma's own."""

from rightcall.local.families.family import Family, GemmaForm, Markers, PythonForm
from rightcall.local.families.known.objects import CHATML, LLAMA, THINK

LLAMA4 = Family(
    name="llama4",
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
    form=PythonForm(),
    section=Markers(("<|tool_call_start|>",), ("<|tool_call_end|>",)),
    separator=", ",
    thoughts=THINK,
    thinking="marked",
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
    form=PythonForm(is_list=False),
    section=Markers(("<function_calls>",), ("</function_calls>",)),
    separator="\n",
    thoughts=THINK,
    thinking="marked",
    turn=(CHATML,),
    ends=("<|im_end|>", "<|endoftext|>"),
    signs=(("<function_calls>",),),
)

PYTHONIC = Family(
    name="pythonic",
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
    form=GemmaForm(quote='<|"|>'),
    call=Markers(("<|tool_call>call:",), ("<tool_call|>",)),
    thoughts=Markers(("<|channel>thought", "<|channel>"), ("<channel|>",)),
    thinking="marked",
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

EXPRESSIONS = (LLAMA4, LFM2, OLMO3, PYTHONIC, GEMMA4, FUNCTION_GEMMA)

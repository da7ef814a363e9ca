"""Families that write each argument between tags of its own."""

# ruff: noqa: RUF001 - the markers are written as the models write them

from msgspec.structs import replace

from rightcall.local.families.family import Channels, Family, Markers, NestedForm, TagForm
from rightcall.local.families.known.json_calls import CHATML, THINK

_PARAMETER = TagForm(
    name_close=">",
    key_open="<parameter=",
    key_close=">",
    value_close="</parameter>",
    head="\n",
    after="\n",
)
_PARAMETER_NAME = replace(_PARAMETER, key_open="<parameter name=", is_quoted=True)

QWEN3_CODER = Family(
    name="qwen3_coder",
    aliases=("nemotron_v3", "nemotron3", "qwen35", "qwen3_xml", "step3p5", "stepfun"),
    rank=17,
    form=replace(_PARAMETER, is_on_lines=True),
    section=Markers(("<tool_call>",), ("</tool_call>",)),
    call=Markers(("<function=",), ("</function>",)),
    inner="\n",
    separator="\n",
    parallel="sections",
    thoughts=THINK,
    calls_in_thoughts=True,
    turn=(CHATML,),
    ends=("<|im_end|>", "<|endoftext|>"),
    signs=(("<function=", "<parameter="),),
)

SEED_OSS = Family(
    name="seed_oss",
    form=_PARAMETER,
    section=Markers(("<seed:tool_call>",), ("</seed:tool_call>",)),
    call=Markers(("<function=",), ("</function>",)),
    inner="\n",
    separator="\n",
    parallel="sections",
    thoughts=Markers(("<seed:think>",), ("</seed:think>",)),
    turn=("<seed:bos>assistant\n",),
    ends=("<seed:eos>",),
    signs=(("<seed:tool_call>",),),
)

_DSML = replace(
    _PARAMETER_NAME,
    key_open="<｜DSML｜parameter name=",
    value_close="</｜DSML｜parameter>",
    attribute="string",
)

# V3.2 and V4 differ only in this word, and models mix them up.
_DSML_OPEN = ("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>")
_DSML_CLOSE = ("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>")

DEEPSEEK_V32 = Family(
    name="deepseek_v32",
    rank=10,
    form=_DSML,
    section=Markers(_DSML_OPEN, _DSML_CLOSE),
    call=Markers(("<｜DSML｜invoke name=",), ("</｜DSML｜invoke>",)),
    lead="\n\n",
    inner="\n",
    separator="\n",
    thoughts=THINK,
    calls_in_thoughts=True,
    turn=("<｜Assistant｜>",),
    ends=("<｜end▁of▁sentence｜>",),
    signs=(("DSML｜", "function_calls"),),
)

DEEPSEEK_V4 = replace(
    DEEPSEEK_V32,
    name="deepseek_v4",
    rank=11,
    section=Markers(_DSML_OPEN[::-1], _DSML_CLOSE[::-1]),
    signs=(("DSML｜",),),
)

MINIMAX_M2 = Family(
    name="minimax_m2",
    form=_PARAMETER_NAME,
    section=Markers(("<minimax:tool_call>",), ("</minimax:tool_call>",)),
    call=Markers(("<invoke name=",), ("</invoke>",)),
    inner="\n",
    separator="\n",
    thoughts=THINK,
    thinking="opened",
    turn=("]~b]ai\n",),
    ends=("[e~[",),
    signs=(("<minimax:tool_call>",),),
)

MINIMAX_M3 = Family(
    name="minimax_m3",
    form=NestedForm(name_close=">", prefix="]<]minimax[>["),
    section=Markers(("]<]minimax[>[<tool_call>",), ("]<]minimax[>[</tool_call>",)),
    call=Markers(("]<]minimax[>[<invoke name=",), ("]<]minimax[>[</invoke>",)),
    inner="\n",
    separator="\n",
    thoughts=Markers(("<mm:think>",), ("</mm:think>",)),
    turn=("]~b]ai\n",),
    ends=("[e~[",),
    signs=(("]<]minimax[>[",), ("<mm:think>",)),
)

MINICPM5 = Family(
    name="minicpm5",
    aliases=("minicpm5_xml", "minicpm5xml"),
    rank=16,
    form=TagForm(
        name_close=">",
        key_open="<param name=",
        other_key_opens=("<paramname=",),
        key_close=">",
        value_close="</param>",
        is_quoted=True,
        has_cdata=True,
    ),
    call=Markers(("<function name=", "<functionname="), ("</function>",)),
    separator="\n",
    thoughts=THINK,
    turn=(CHATML,),
    ends=("<|im_end|>", "</s>"),
    signs=(("<function name=", "<param name="),),
)

STEP3 = Family(
    name="step3",
    form=TagForm(
        name_close=">",
        key_open="<steptml:parameter name=",
        key_close=">",
        value_close="</steptml:parameter>",
        is_quoted=True,
    ),
    section=Markers(
        (
            "<｜tool_calls_begin｜>",
            "<｜tool_call_begin｜>function<｜tool_sep｜>",
            "<｜tool_call_begin｜>",
        ),
        ("<｜tool_calls_end｜>", "<｜tool_call_end｜>"),
    ),
    call=Markers(
        ("<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=", "<steptml:invoke name="),
        ("</steptml:invoke><｜tool_call_end｜>", "</steptml:invoke>"),
    ),
    thoughts=THINK,
    thinking="opened",
    turn=("<|BOT|>assistant\n",),
    ends=("<|EOT|>",),
    signs=(("steptml:invoke",),),
)

DOTS = Family(
    name="dots",
    form=_PARAMETER_NAME,
    section=Markers(("<dots_function_call>",), ("</dots_function_call>",)),
    call=Markers(("<invoke name=",), ("</invoke>",)),
    inner="\n",
    separator="\n",
    thoughts=THINK,
    turn=("<|response|>",),
    ends=("<|endofresponse|>",),
    signs=(("<dots_function_call>",),),
)

GLM = Family(
    name="glm",
    aliases=(
        "glm4",
        "glm45",
        "glm46",
        "glm47",
        "glm4_moe",
        "glm47_moe",
        "ling3",
        "poolside",
        "poolside_v1",
    ),
    rank=19,
    form=TagForm(
        name_close="\n",
        key_open="<arg_key>",
        key_close="</arg_key>",
        value_open="<arg_value>",
        value_close="</arg_value>",
        gap="\n",
        after="\n",
    ),
    call=Markers(("<tool_call>",), ("</tool_call>",)),
    separator="\n",
    thoughts=THINK,
    calls_in_thoughts=True,
    turn=("<|assistant|>", "<assistant>", "<role>ASSISTANT</role>"),
    ends=("<|user|>", "<|observation|>", "<|endoftext|>", "</assistant>", "<|role_end|>"),
    signs=(("<arg_key>", "<tool_call>"),),
)


def _hy_v3(suffix: str) -> Family:
    """Hunyuan's tags, which have a suffix in the open weights."""
    return Family(
        name="hy_v3",
        aliases=("hy3",),
        rank=18,
        form=TagForm(
            name_close=f"<tool_sep{suffix}>",
            key_open=f"<arg_key{suffix}>",
            key_close=f"</arg_key{suffix}>",
            value_open=f"<arg_value{suffix}>",
            value_close=f"</arg_value{suffix}>",
            head="\n",
            gap="\n",
            after="\n",
        ),
        section=Markers((f"<tool_calls{suffix}>",), (f"</tool_calls{suffix}>",)),
        call=Markers((f"<tool_call{suffix}>",), (f"</tool_call{suffix}>",)),
        inner="\n",
        separator="\n",
        thoughts=Markers((f"<think{suffix}>",), (f"</think{suffix}>",)),
        turn=(f"<｜hy_Assistant{suffix}｜>",),
        ends=(f"<｜hy_eos{suffix}｜>",),
        signs=(("<tool_sep>",), ("<tool_sep{}>",)),
    )


HY_V3 = _hy_v3("")
HY_V3_OPENSOURCE = replace(
    _hy_v3(":opensource"),
    name="hy_v3_opensource",
    aliases=(),
    rank=0,
    signs=(("<tool_sep{}>", ":opensource"),),
)

KIMI_K3 = Family(
    name="kimi_k3",
    form=TagForm(
        name_close="<|sep|>",
        key_open="<|open|>argument key=",
        key_close="<|sep|>",
        value_close="<|close|>argument<|sep|>",
        is_quoted=True,
        is_escaped=True,
        attribute="type",
        counter="index",
        raw=Markers(('<|open|>json type="object"<|sep|>',), ("<|close|>json<|sep|>",)),
    ),
    section=Markers(("<|open|>tools<|sep|>",), ("<|close|>tools<|sep|>",)),
    call=Markers(("<|open|>call tool=",), ("<|close|>call<|sep|>",)),
    thoughts=Markers(("<|open|>think<|sep|>",), ("<|close|>think<|sep|>",)),
    calls_in_thoughts=True,
    wrappers=("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"),
    turn=('<|open|>message role="assistant"<|sep|>',),
    ends=("<|end_of_msg|>",),
    signs=(("<|open|>", "<|sep|>", "<|close|>"),),
)

MUSE_GLIMMER = Family(
    name="muse_glimmer",
    aliases=("muse",),
    form=replace(_PARAMETER_NAME, key_open="<atem:parameter name=", value_close="</atem:parameter>"),
    section=Markers(("<atem:function_calls>",), ("</atem:function_calls>",)),
    call=Markers(("<atem:invoke name=",), ("</atem:invoke>",)),
    inner="\n",
    separator="\n",
    parallel="sections",
    channels=Channels(
        start="<|start|>",
        message="<|message|>",
        ends=("<|eom|>", "<|eot|>"),
        thoughts=("self",),
        nobody=("user",),
    ),
    turn=("<|start|>assistant",),
    signs=(("<atem:",), ("atem:invoke",)),
)

"""The planner's request: the user's request and the typed signatures of the tools, and nothing else.

Descriptions of third-party tools, as those of MCP servers, are left out: their authors could give the
planner instructions in them. Of such a tool it reads the name, the parameters and their types.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.message import Message, Reply, User, said
from rightcall.core.parts import Text
from rightcall.core.request import Request
from rightcall.core.tool import Tool
from rightcall.errors import DeclarationError
from rightcall.plan.parse import PlanProblem
from rightcall.plan.results import Known, known
from rightcall.programs.stubs import Stubs, stubs_of
from rightcall.trust.rules import Rules

INSTRUCTIONS = """\
You plan before anything is read. Write a short Python program that does what the user asks by calling \
the functions below. You will not see what they return: the program must do the whole task.

Rules:
- Answer with the program alone, in one ```python block. Its end is answer(text), with what the user is \
to be told.
- Only a small part of Python is there: assignments, if, for, def, lambda, comprehensions, fields \
(mail.sender), items, slices, arithmetic, comparisons, f-strings; len sum min max sorted round abs int \
float str list set dict tuple range enumerate zip reversed any all; the usual methods of texts, lists \
and dicts; datetime, date, time, timedelta. No import, while, try, with, print, *args.
- Functions are called plainly, without await. Each waits for its result.
- Free text is read only by extract(text, Type) or extract(text, Type, question="…"): another model \
reads the text and gives a value of the type, or None where the text does not say. Type is str, int, \
float, bool, date, datetime, Literal[…], list[…], or a class with fields that you write at the top. \
Prefer numbers, choices, dates and bools to text.
- Write names, addresses and amounts that the user gave as the user gave them. Take all others from \
fields that a system keeps (a sender, an id, a contact), not out of free text, wherever that is possible.
- Where a condition or a loop hangs on what others wrote, change a list or dict that was made before it \
only by its own name (found.append(x), not found["a"].append(x)), or build a new one.
- If the task cannot be planned without reading something first, answer with look_first("why") alone.

```python
{stubs}
```"""
_REPAIR = """\
The plan cannot go on: {problem}
{sample}Write the whole program again. Calls that were made are not made again: the same call takes the \
result that it had."""
_FENCE = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)
_WORDLIKE = re.compile(r"[\w.@:/+-]{1,40}")
_TOKENS = 4096


def source_in(text: str) -> str:
    """The program in the planner's reply."""
    found = _FENCE.search(text)
    return (found[1] if found else text).strip()


def stubs_for(tools: Iterable[Tool]) -> Stubs:
    """The signatures of the tools, without any text of third parties."""
    return stubs_of([_plainly(tool) for tool in tools], is_plan=True)


def _plainly(tool: Tool) -> Tool:
    if not tool.origin:
        return tool
    return Tool(tool.name, tool.name, _without_words(tool.parameters), effect=tool.effect)


def _without_words(schema: Any) -> Any:
    """A third party's schema without possible sentences: descriptions, titles, long choices."""
    if isinstance(schema, Mapping):
        kept: dict[str, Any] = {}
        for key, value in schema.items():
            if key in ("description", "title", "examples", "default", "$comment", "pattern"):
                continue
            if key in ("enum", "const") and not _are_words(value):
                continue
            kept[key] = _members(value) if key in ("properties", "$defs") else _without_words(value)
        return kept
    return [_without_words(each) for each in schema] if isinstance(schema, list) else schema


def _members(members: Any) -> Any:
    if not isinstance(members, Mapping):
        return {}
    for name in members:
        if not _WORDLIKE.fullmatch(name):
            raise DeclarationError(
                "plan", "a stranger's tool has a parameter that is no name.", where="parameters"
            )
    return {name: _without_words(each) for name, each in members.items()}


def _are_words(values: Any) -> bool:
    listed = values if isinstance(values, list) else [values]
    return all(not isinstance(each, str) or _WORDLIKE.fullmatch(each) for each in listed)


def planning_request(
    messages: Sequence[Message],
    attempts: Sequence[tuple[str, PlanProblem, str]],
    *,
    stubs: Stubs,
    system: str,
    answer: JsonObject | None,
    options: Mapping[str, Any],
) -> Request:
    """The request for a plan, with every earlier plan and its problem."""
    clean: list[Message] = [
        each for each in messages if isinstance(each, User) and each.author in ("user", "developer")
    ]
    for source, problem, sample in attempts:
        clean.append(Reply((Text(f"```python\n{source}\n```"),)))
        clean.append(said(_REPAIR.format(problem=problem, sample=sample), "runtime"))
    told = INSTRUCTIONS.format(stubs=stubs.shown.rstrip())
    if answer is not None:
        told += f"\n\nanswer(…) takes a dict that fits this JSON Schema:\n{dump(answer)}"
    return Request(
        messages=tuple(clean),
        system=f"{system}\n\n{told}".strip(),
        max_tokens=_TOKENS,
        options=options,
    )


def known_tools(tools: Iterable[Tool], stubs: Stubs, rules: Rules | None = None) -> dict[str, Known]:
    """The tools, by their names in the plan."""
    by_name = {tool.name: tool for tool in tools}
    return {name: known(by_name[each.tool], each, rules) for name, each in stubs.functions.items()}

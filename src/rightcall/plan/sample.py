"""The parts of results that a planner may see when its plan failed: system fields, and nothing else."""

from collections.abc import Mapping

from msgspec import json

from rightcall.plan.operations import Fails
from rightcall.plan.results import Known, value_of
from rightcall.plan.story import Story
from rightcall.plan.value import SCALARS, as_json, inside

_MOST = 3
_LONGEST = 60
_WORDS = "For orientation, values of fields that systems keep themselves:\n{lines}\n"


def sample_of(story: Story, tools: Mapping[str, Known]) -> str:
    """Some values of system fields, by tool and field, as text for the planner; empty without any."""
    found: dict[str, list[str]] = {}
    by_name = {each.tool.name: each for each in tools.values()}
    for attempt in story.attempts:
        for call, result in attempt.calls:
            tool = by_name.get(call.name)
            # The sources of the arguments are not known here, so a result that echoes them is not shown.
            if tool is None or tool.facts.derived or tool.tool.origin:
                continue
            try:
                value = value_of(tool, result, 0, {})
            except Fails:
                continue
            for each in inside(value):
                sources = list(each.sources)
                if (
                    not isinstance(each.data, SCALARS)
                    or each.data is None
                    or each.chosen
                    or len(sources) != 1
                ):
                    continue
                if sources[0].kind != "system" or len(str(each.data)) > _LONGEST:
                    continue
                text = json.encode(as_json(each)).decode()
                shown = found.setdefault(f"{call.name}: {sources[0].path or 'result'}", [])
                if text not in shown and len(shown) < _MOST and text not in call.arguments:
                    shown.append(text)
    lines = "\n".join(f"- {where} = {', '.join(texts)}" for where, texts in found.items() if texts)
    return _WORDS.format(lines=lines) if lines else ""

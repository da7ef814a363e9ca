"""Tools told in words, for a model whose chat template knows nothing of them."""

from rightcall.core.call import Call
from rightcall.core.jsontext import dump
from rightcall.core.result import Result
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.local.families.family import Family
from rightcall.local.families.write import write

_INTRODUCTION = (
    "You can use tools. To use one, write nothing but a call, exactly in this form:\n"
    "{form}\n"
    "You will be given its result. When no tool is needed, answer in words.\n\n"
    "The tools:"
)


class Told:
    """How one family's calls are spoken of."""

    def __init__(self, family: Family) -> None:
        self._family = family

    def instructions(self, specs: tuple[Spec, ...]) -> str:
        """What each tool does, its parameters, and a worked call where the tool has an example."""
        form = self._written("tool_name", '{"parameter": "value"}')
        parts = [_INTRODUCTION.format(form=form), *map(self._tool, specs)]
        return "\n\n".join(parts)

    def calls(self, calls: tuple[Call, ...]) -> str:
        """Earlier calls, as the model would have written them."""
        return "\n".join(self._written(call.name, call.arguments) for call in calls)

    def results(self, results: tuple[Result, ...]) -> str:
        """Their results, as something that the user says."""
        return "\n\n".join(
            f"{'Error' if each.is_error else 'Result'} of {each.name}:\n{each.text}" for each in results
        )

    def _tool(self, spec: Spec) -> str:
        lines = [f"{spec.name}: {spec.description}", f"Parameters: {dump(spec.parameters)}"]
        lines += [f"Example:\n{self._written(spec.name, dump(each))}" for each in spec.examples[:1]]
        return "\n".join(lines)

    def _written(self, name: str, arguments: str) -> str:
        call = Call(id="", name=name, arguments=arguments)
        try:
            return write(self._family, (call,))
        except EncodeError:
            # A broken call is history too; the model sees what it wrote.
            return f"{name}: {arguments}"

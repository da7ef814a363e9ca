"""The ``calculate`` tool: arithmetic that a model can rely on."""

from rightcall.builtin.calculate.evaluate import evaluate
from rightcall.builtin.calculate.show import show
from rightcall.builtin.calculate.tokens import LONGEST
from rightcall.core.jsontext import JsonObject
from rightcall.core.tool import Facts, Limits, Tool

_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "expression": {
            "type": "string",
            "description": "The expression to work out, such as (17 + 5) * 23.",
        }
    },
    "required": ["expression"],
    "additionalProperties": False,
}
_DESCRIPTION = (
    "Work out an arithmetic expression exactly. Use it for every calculation. "
    "Knows + - * / // % ** ( ), percentages (15% of 80), n!, pi, e, and sqrt, cbrt, abs, round, floor, "
    "ceil, min, max, sum, mean, median, gcd, lcm, comb, perm, factorial, exp, ln, log10, log2, "
    "log(x, base), sin, cos, tan (radians)."
)


def calculate() -> Tool:
    """A tool that works out arithmetic: exactly where that is possible, and always within bounds."""

    async def handler(expression: str) -> str:
        return show(evaluate(expression))

    return Tool(
        "calculate",
        _DESCRIPTION,
        _PARAMETERS,
        handler,
        short="Work out an arithmetic expression.",
        examples=(
            {"expression": "12 * (3 + 4)"},
            {"expression": "250 - 75"},
            {"expression": "20% of 45"},
        ),
        questions=(
            "What is 12 times the sum of 3 and 4?",
            "How much is 250 - 75?",
            "What is 20% of 45?",
        ),
        effect="pure",
        limits=Limits(timeout=10.0, max_arguments_bytes=16 * LONGEST),
        facts=Facts(untrusted=False, private=False, reach="nothing", targets=()),
    )

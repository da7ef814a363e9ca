import pytest
from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations

import rightcall as rc
from rightcall.mcp.server.request_handlers import hints, served_tool


@pytest.mark.parametrize(
    ("effect", "reach", "reads", "destroys", "repeats", "roams"),
    [
        ("pure", None, True, False, True, False),
        ("read", None, True, False, True, None),
        ("read", "outside", True, False, True, True),
        ("idempotent", "user", False, None, True, False),
        ("write", None, False, None, False, None),
        ("write", "nothing", False, None, False, False),
    ],
)
def test_effect_and_reach_become_hints(effect, reach, reads, destroys, repeats, roams):
    tool = rc.Tool("t", "Does it.", effect=effect, facts=rc.Facts(reach=reach))
    assert hints(tool) == ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=destroys,
        idempotent_hint=repeats,
        open_world_hint=roams,
    )


def test_a_tool_is_listed_with_everything_that_is_known_of_it():
    @rc.tool(effect="pure")
    def add_up(a: int, b: int = 0) -> int:
        """Add two numbers.

        Args:
            a: The first.
        """
        return a + b

    assert served_tool(add_up).listed == Listed(
        name="add_up",
        title="Add up",
        description="Add two numbers.",
        input_schema=dict(add_up.parameters),
        output_schema={
            "type": "object",
            "properties": {"result": {"type": "integer"}},
            "required": ["result"],
        },
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def test_the_short_words_for_a_tool_are_its_title():
    assert served_tool(rc.Tool("t", "All about it.", short="It")).listed.title == "It"


@pytest.mark.parametrize("untrusted", [True, ("page",)])
def test_a_tool_with_words_of_outsiders_promises_no_structure(untrusted):
    @rc.tool(facts=rc.Facts(untrusted=untrusted))
    def read() -> dict[str, str]:
        """Read."""
        return {}

    assert served_tool(read).returns is None
    assert served_tool(read).listed.output_schema is None

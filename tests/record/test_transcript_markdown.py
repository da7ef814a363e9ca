"""A conversation as Markdown has everything that was said, and nothing in it can end its own block."""

from rightcall.core.message import Reply, Results, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.record.transcript_markdown import markdown_lines

PICTURE = Media(b"\x89PNG", "image/png")
ASKED = Call(id="a", name="look", arguments='{"at":"the sky"}')
BARE = Call(id="b", name="wait", arguments="")


def written(*messages) -> str:
    return "\n".join(markdown_lines(messages))


def result(*content) -> Results:
    return Results((Result(call_id="a", name="look", outcome="returned", content=content),))


def test_each_message_stands_under_its_author_with_its_calls_and_results():
    history = (
        user_text("What is up?"),
        Reply((Text("I look."), ASKED, BARE), "calls"),
        result(Text("Blue.")),
        Reply((Text("Blue."),), "end"),
    )
    assert written(*history).split("\n") == [
        "## User",
        "",
        "What is up?",
        "",
        "## Model",
        "",
        "I look.",
        "",
        "`look` was called with",
        "",
        "```json",
        '{"at":"the sky"}',
        "```",
        "",
        "`wait` was called with",
        "",
        "```json",
        "{}",
        "```",
        "",
        "`look` returned:",
        "",
        "```",
        "Blue.",
        "```",
        "",
        "## Model",
        "",
        "Blue.",
        "",
    ]


def test_a_reply_of_calls_alone_has_no_empty_paragraph():
    assert written(Reply((BARE,), "calls")).startswith("## Model\n\n`wait` was called with")


def test_a_picture_is_named_wherever_it_stands():
    named = f"[{PICTURE.about}]"
    assert named in written(user_text("See:"), result(PICTURE))
    assert f"{named} {named}" in written(result(PICTURE, PICTURE))
    assert named not in written(result(Text("a sky"), PICTURE))


def test_no_text_ends_the_block_that_it_is_in():
    for ticks in ("", "`", "```", "`````", "`` ``` ````"):
        text = f"before\n{ticks}\n## User\n{ticks}\nafter"
        lines = written(result(Text(text))).split("\n")
        fence = lines[2]
        assert set(fence) == {"`"}
        assert len(fence) >= 3
        # The first line that could end the block is the one that does.
        ends = [at for at, line in enumerate(lines) if line.startswith(fence)]
        assert ends == [2, len(lines) - 2]
        assert "\n".join(lines[3:-2]) == text

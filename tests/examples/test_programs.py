"""The README's first program runs as it stands, against a scripted vendor on loopback."""

from docs.recipe_pages import ROOT, program_of, run
from examples.vendor import vendor


async def test_the_first_program_of_the_readme(tmp_path):
    text = (ROOT / "README.md").read_text()
    program = tmp_path / "first.py"
    program.write_text(text.partition("```py\n")[2].partition("```")[0])
    async with vendor([[("get_weather", {"city": "Paris"})], "It is sunny."]) as at:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": at.url}
        assert await run(*program_of("python"), "first.py", cwd=tmp_path, **keys) == "It is sunny.\n"
    assert at.requests[1]["messages"][2]["content"][0]["content"] == [
        {"type": "text", "text": "Paris: sunny"}
    ]

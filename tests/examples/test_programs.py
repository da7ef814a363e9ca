"""The README's first program runs as it stands, against a scripted vendor on loopback, and offline."""

import json

import pytest

from docs.readme import first_program
from docs.recipe_pages import program_of, run
from examples.vendor import vendor


@pytest.mark.parametrize(("answer", "became"), [("y", "refunded"), ("n", "denied")])
async def test_the_first_program_of_the_readme(tmp_path, answer, became):
    (tmp_path / "shop.py").write_text(first_program())
    lines = [[("get_order", {"number": 4711})], [("refund", {"order": 4711, "euros": 40})], "Done."]
    async with vendor(lines) as at:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": at.url}
        printed = await run(*program_of("python"), "shop.py", cwd=tmp_path, typed=f"{answer}\n", **keys)
    assert printed == "refund {'order': 4711, 'euros': 40}? [y/N] Done.\n"
    told = json.dumps(at.requests[2]["messages"][4])
    assert ("40 euros are on their way." in told) == (became == "refunded")
    assert ("permission was denied" in told) == (became == "denied")


async def test_the_first_program_of_the_readme_offline(tmp_path):
    (tmp_path / "shop.py").write_text(first_program().replace("anthropic:claude-opus-4-8", "embedded"))
    printed = await run(*program_of("python"), "shop.py", cwd=tmp_path, typed="y\n")
    assert printed.endswith("? [y/N] For order 4711, euros 40, refund says 40 euros are on their way.\n")

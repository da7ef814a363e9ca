import json

import pytest

import rightcall as rc
from builtin.kit import told
from builtin.net.kit import answer, reader, site
from rightcall import builtin

PAGE = b"<title>Hello</title><p>Some text.</p>"
FOUND = json.dumps({"results": [{"title": "Lisbon", "url": "https://lisboa.pt/", "content": "A city."}]})


async def test_one_tool_searches_and_reads():
    pages = {"/search": answer(FOUND.encode(), kind="application/json"), "/": answer(PAGE)}
    async with site(pages) as here:
        tool = builtin.web(builtin.web_search("searxng", url=here.url()), reader())
        searched = await told(tool, mode="search", query="lisbon")
        kind, page = await told(tool, mode="fetch", url=here.url())
    assert searched[0] == kind == "returned"
    assert json.loads(searched[1]) == {
        "untrusted_source": "web",
        "content": "1. Lisbon\nhttps://lisboa.pt/\nA city.",
    }
    assert json.loads(page)["content"].endswith("Title: Hello\n\nSome text.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mode": "search"}, "search needs query."),
        ({"mode": "fetch", "query": "x"}, "fetch needs url."),
        ({"mode": "search", "query": "x", "url": "http://a.example"}, "search takes no url."),
    ],
)
async def test_each_mode_takes_its_own(arguments, words):
    tool = builtin.web(builtin.web_search("searxng", url="http://127.0.0.1:9"), reader())
    kind, text = await told(tool, **arguments)
    assert kind == "failed"
    assert words in text


async def test_what_a_vendor_fills_in_for_the_other_mode_does_no_harm():
    pages = {"/search": answer(FOUND.encode(), kind="application/json"), "/": answer(PAGE)}
    async with site(pages) as here:
        tool = builtin.web(builtin.web_search("searxng", url=here.url()), reader())
        read = await told(tool, mode="fetch", url=here.url(), query="", start=0)
        searched = await told(tool, mode="search", query="x", url="", start=0)
    assert (read[0], searched[0]) == ("returned", "returned")
    assert "https://lisboa.pt/" in searched[1]


def test_without_an_engine_it_only_reads():
    tool = builtin.web()
    assert tool.parameters["properties"]["mode"]["enum"] == ["fetch"]
    assert "query" not in tool.parameters["properties"]
    assert tool.facts == builtin.web_fetch().facts


def test_everything_that_goes_out_has_a_rate():
    search = builtin.web_search("searxng", url="http://127.0.0.1:9")
    for tool in (builtin.web(), builtin.web_fetch(), search):
        assert tool.limits.rate == (60, 60.0)
    assert builtin.web(rate=(5, 1)).limits.rate == (5, 1)
    assert builtin.web_fetch(rate=None).limits.rate is None


def test_only_its_own_parts_are_taken():
    with pytest.raises(rc.errors.UsageError, match=r"calculate is not .*web_search made"):
        builtin.web(builtin.calculate())
    with pytest.raises(rc.errors.UsageError, match=r"calculate is not .*web_fetch made"):
        builtin.web(fetch=builtin.calculate())

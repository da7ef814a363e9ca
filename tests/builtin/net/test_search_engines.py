"""Searching the web, against engines that answer as their documentation says."""

import asyncio
import json

import pytest

from builtin.kit import told, use
from builtin.net.kit import answer, redirect, site
from rightcall import builtin
from rightcall.builtin.net.web_tools import ENGINES
from rightcall.core.tool import Facts
from rightcall.errors import UsageError

ANSWERS = {
    "searxng": {
        "query": "lisbon",
        "number_of_results": 0,
        "results": [
            {
                "url": "https://en.wikipedia.org/wiki/Lisbon",
                "title": "Lisbon - Wikipedia",
                "content": "Lisbon is the capital\n of Portugal.",
                "engine": "duckduckgo",
                "parsed_url": ["https", "en.wikipedia.org", "/wiki/Lisbon", "", "", ""],
                "engines": ["duckduckgo"],
                "positions": [1],
                "score": 1.0,
                "category": "general",
            },
            {"url": "https://lisboa.pt/", "title": "Lisboa", "content": None, "engine": "bing"},
        ],
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    },
    "brave": {
        "type": "search",
        "query": {"original": "lisbon"},
        "web": {
            "type": "search",
            "results": [
                {
                    "title": "Lisbon - Wikipedia",
                    "url": "https://en.wikipedia.org/wiki/Lisbon",
                    "description": "Lisbon is the capital of Portugal.",
                    "language": "en",
                    "family_friendly": True,
                },
                {"title": "Lisboa", "url": "https://lisboa.pt/"},
            ],
        },
    },
    "tavily": {
        "query": "lisbon",
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": [
            {
                "url": "https://en.wikipedia.org/wiki/Lisbon",
                "title": "Lisbon - Wikipedia",
                "content": "Lisbon is the capital of Portugal.",
                "score": 0.93,
                "raw_content": None,
            },
            {"url": "https://lisboa.pt/", "title": "Lisboa", "content": "", "score": 0.5},
        ],
        "response_time": 1.09,
    },
}
SHOWN = (
    "1. Lisbon - Wikipedia\nhttps://en.wikipedia.org/wiki/Lisbon\nLisbon is the capital of Portugal.\n\n"
    "2. Lisboa\nhttps://lisboa.pt/"
)
PATHS = {"searxng": "/search", "brave": "/res/v1/web/search", "tavily": "/search"}


def engine_of(name, here, **options):
    url = here.url("/" if name == "searxng" else PATHS[name])
    return builtin.web_search(name, url=url, key=None if name == "searxng" else "s3cret-key", **options)


def content(text: str) -> str:
    envelope = json.loads(text)
    assert envelope["untrusted_source"] == "web_search"
    return envelope["content"]


@pytest.mark.parametrize("name", ENGINES)
async def test_results_are_titles_addresses_and_a_few_lines(name):
    page = answer(json.dumps(ANSWERS[name]).encode(), kind="application/json")
    async with site({PATHS[name]: page}) as here:
        kind, text = await told(engine_of(name, here), query="lisbon")
    assert (kind, content(text)) == ("returned", SHOWN)


ASKED = {
    "searxng": ("GET", "/search?q=caf%C3%A9+%26+tea&format=json", {"accept": "application/json"}, b""),
    "brave": (
        "GET",
        "/res/v1/web/search?q=caf%C3%A9+%26+tea&count=5&text_decorations=false",
        {"accept": "application/json", "x-subscription-token": "s3cret-key"},
        b"",
    ),
    "tavily": (
        "POST",
        "/search",
        {"content-type": "application/json", "authorization": "Bearer s3cret-key", "accept": "*/*"},
        b'{"query":"caf\xc3\xa9 & tea","max_results":5}',
    ),
}


@pytest.mark.parametrize("name", ENGINES)
async def test_an_engine_is_asked_in_its_own_way(name):
    async with site({PATHS[name]: answer(b"{}", kind="application/json")}) as here:
        await told(engine_of(name, here), query="café & tea")
    (asked,) = here.asked
    usual = {"host", "accept-encoding", "connection", "user-agent", "content-length"}
    headers = {header: value for header, value in asked.headers.items() if header not in usual}
    assert (asked.method, asked.target, headers, asked.body) == ASKED[name]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "body", ["{}", '{"results": 5, "web": 5}', '{"results": [5, {}], "web": {}}', "[]"]
)
async def test_an_answer_without_results_says_so(name, body):
    async with site({PATHS[name]: answer(body.encode(), kind="application/json")}) as here:
        _, text = await told(engine_of(name, here), query="lisbon")
    assert content(text) == "Nothing was found."


async def test_no_more_results_are_given_than_wanted_and_none_is_long():
    rows = [{"url": f"https://a.example/{n}", "title": "t" * 900, "content": "c"} for n in range(30)]
    page = answer(json.dumps({"results": rows}).encode(), kind="application/json")
    async with site({"/search": page}) as here:
        _, text = await told(engine_of("searxng", here, count=3), query="x")
    blocks = content(text).split("\n\n")
    assert (len(blocks), len(blocks[0].split("\n")[0])) == (3, 503)


async def silence(writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


BROKEN = {
    "is not JSON": (answer(b"<html>"), "The search engine answered with something that is not JSON."),
    "refuses the key": (answer(b"", status="401 No"), "The search engine answered 401 Unauthorized."),
    "is busy": (answer(b"", status="429 Slow"), "The search engine answered 429 Too Many Requests."),
    "redirects": (redirect("http://127.0.0.2/"), "The search engine answered 302 Found."),
    "is silent": (silence, "The search took longer than 0.5 s."),
}


@pytest.mark.parametrize(("says", "words"), BROKEN.values(), ids=BROKEN)
async def test_what_goes_wrong_is_said_in_words_and_the_key_is_not_shown(says, words):
    async with site({"/search": says}) as here:
        done = await use(engine_of("tavily", here, timeout=0.5), query="x")
    text = done.result.text
    # The engine's own words of its status are anyone's; the tool's are not.
    said = text if done.result.own else content(text)
    assert (done.outcome.kind, said, "s3cret" in text) == ("failed", words, False)
    assert done.result.own == ("answered with something" in words or "took longer" in words)


async def test_keys_and_addresses_come_from_the_environment(monkeypatch):
    async with site({"/search": answer(b"{}")}) as here:
        monkeypatch.setenv("SEARXNG_URL", here.url())
        monkeypatch.setenv("TAVILY_API_KEY", "from-the-environment")
        await told(builtin.web_search("searxng"), query="x")
        await told(builtin.web_search("tavily", url=here.url("/search")), query="x")
    assert [asked.headers.get("authorization") for asked in here.asked] == [
        None,
        "Bearer from-the-environment",
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("searxng", r"searxng needs url=\.\.\., or SEARXNG_URL in the environment"),
        ("brave", r"brave needs key=\.\.\., or BRAVE_API_KEY in the environment"),
        ("tavily", r"tavily needs key=\.\.\., or TAVILY_API_KEY in the environment"),
        ("altavista", "'altavista' is not one of searxng, brave, tavily"),
    ],
)
def test_what_an_engine_needs_is_said(name, words, monkeypatch):
    for variable in ("SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError, match=words):
        builtin.web_search(name)


@pytest.mark.parametrize("count", [0, 21])
def test_a_number_of_results_that_makes_no_sense_is_refused(count):
    with pytest.raises(UsageError, match=f"count must be 1 to 20, not {count}"):
        builtin.web_search("brave", key="k", count=count)


def test_what_it_is_is_said():
    tool = builtin.web_search("brave", key="s3cret-key")
    assert (tool.name, tool.effect) == ("web_search", "read")
    assert tool.facts == Facts(untrusted=True, private=False, reach="outside", targets=())
    assert "s3cret" not in repr(tool)

"""Five tools in several wordings: bare, described, with examples, and with two descriptions made worse.

The questions and the words of bare, described and examples were written before anything was asked, and
not changed after. The worsened ones came later, when it was known what there was to lose.
"""

from collections.abc import Mapping, Sequence

import rightcall as rc
from rightcall.core.jsontext import JsonObject


def _schema(**properties: str) -> JsonObject:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }


PARAMETERS = {
    "get_weather": _schema(city="string"),
    "convert_currency": _schema(amount="number", source="string", target="string"),
    "find_train": _schema(origin="string", destination="string"),
    "set_reminder": _schema(text="string", minutes="integer"),
    "search_mail": _schema(query="string"),
}
BARE = {
    "get_weather": "Weather.",
    "convert_currency": "Currency.",
    "find_train": "Trains.",
    "set_reminder": "Reminders.",
    "search_mail": "Mail.",
}
DESCRIBED = {
    "get_weather": "Tell the weather in a city: temperature, rain, wind, snow. Use it for anything "
    "about the sky outside, today or tomorrow.",
    "convert_currency": "Convert an amount of money from one currency into another at today's rate. Use "
    "it for dollars, euros, pounds, yen.",
    "find_train": "Find the next train from one city to another. Use it when somebody wants to travel, "
    "go or get somewhere by rail.",
    "set_reminder": "Set a reminder that rings after so many minutes. Use it when somebody wants to be "
    "told, called or woken later.",
    "search_mail": "Search the user's e-mail for words. Use it to find messages, letters, invoices and "
    "what somebody wrote.",
}
EXAMPLES: Mapping[str, Sequence[tuple[str, JsonObject]]] = {
    "get_weather": [
        ("Is it sunny in Madrid?", {"city": "Madrid"}),
        ("How warm is it in Cairo?", {"city": "Cairo"}),
    ],
    "convert_currency": [
        ("How many pounds are 20 dollars?", {"amount": 20, "source": "USD", "target": "GBP"}),
        ("Change 300 yen into euros.", {"amount": 300, "source": "JPY", "target": "EUR"}),
    ],
    "find_train": [
        ("How do I get from Bern to Basel?", {"origin": "Bern", "destination": "Basel"}),
        ("Is there a train from Rome to Milan?", {"origin": "Rome", "destination": "Milan"}),
    ],
    "set_reminder": [
        ("Remind me to call Ann in 10 minutes.", {"text": "call Ann", "minutes": 10}),
        ("Wake me in 45 minutes.", {"text": "wake up", "minutes": 45}),
    ],
    "search_mail": [
        ("Find the mail about the contract.", {"query": "contract"}),
        ("Did Peter write to me?", {"query": "Peter"}),
    ],
}
WORSE = {**DESCRIBED, "find_train": "Handle a request.", "get_weather": "Process the given input."}


def _tools(
    words: Mapping[str, str], shown: Mapping[str, Sequence[tuple[str, JsonObject]]]
) -> rc.Toolbox:
    return rc.Toolbox(
        [
            rc.Tool(
                name,
                words[name],
                parameters,
                effect="read",
                examples=[given for _, given in shown.get(name, ())],
                questions=[asked for asked, _ in shown.get(name, ())],
            )
            for name, parameters in PARAMETERS.items()
        ]
    )


bare = _tools(BARE, {})
described = _tools(DESCRIBED, {})
examples = _tools(DESCRIBED, EXAMPLES)
worse = _tools(WORSE, {})
worse_examples = _tools(WORSE, EXAMPLES)


def without(tool: str) -> rc.Toolbox:
    """The tools with examples, but for one, which says nothing of itself."""
    words = {**DESCRIBED, tool: "Handle a request."}
    return _tools(words, {name: shown for name, shown in EXAMPLES.items() if name != tool})


without_weather = without("get_weather")
without_currency = without("convert_currency")
without_train = without("find_train")
without_reminder = without("set_reminder")
without_mail = without("search_mail")

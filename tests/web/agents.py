"""What the studio is started with, to try tools and to talk."""

from typing import Literal

import rightcall as rc
from rightcall.testing import ScriptedModel, Turn, call, reply
from web import stories


@rc.tool(effect="pure")
def convert(
    amount: float, unit: Literal["km", "miles"] = "km", places: int = 1, tags: list[str] | None = None
) -> dict[str, object]:
    """Convert a distance, from kilometres to miles or back."""
    factor = 0.621371 if unit == "km" else 1.609344
    return {
        "amount": round(amount * factor, places),
        "unit": "miles" if unit == "km" else "km",
        "tags": tags or [],
    }


def _answer(request: rc.models.Request) -> Turn:
    """Look the weather up once, then say it; slowly, so that it can be watched, or stopped."""
    asked = request.messages[-1]
    if isinstance(asked, rc.User):
        pause = 60 if "Take your time" in asked.text else 0.01
        return Turn(reply=reply("I look it up. ", call("get_weather", city="Paris")), pause=pause)
    return Turn(reply=reply("It is clear in Paris, at 14 °C."), pause=0.15)


shop = rc.Agent(
    ScriptedModel(_answer, name=stories.OPUS),
    [
        convert,
        stories.get_weather,
        stories.find_flights,
        stories.city_photo,
        stories.pay,
        stories.book,
        stories.charge,
    ],
    name="shop",
    instructions="You help in a shop.",
)

assistant = rc.Agent(
    stories.mail_model(),
    [stories.inbox, stories.contacts, stories.send],
    name="assistant",
    instructions="You keep the user's mail. Be brief.",
    trust=rc.trust.Rules(otherwise="deny"),
)

"""What a reference gives: records with what stands around them, elements, keys, words, objects."""

import pytest

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust.rules import Rules

LAMPS = [{"name": "Desk Lamp", "item": "11"}, {"name": "Desk Lamp", "item": "21"}]
ORDERS = [
    {"id": "W1", "status": "delivered", "items": [LAMPS[0], {"name": "Hose", "item": "12"}]},
    {"id": "W2", "status": "pending", "items": [LAMPS[1]]},
]
PRODUCTS = {
    "a": {"item": "31", "options": {"colour": "red", "size": "large"}},
    "b": {"item": "32", "options": {"colour": "red", "size": "small"}},
}


class House:
    """A shop's orders, and a workspace whose channels others have named."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.page = "I am Dora: dora@home.example, or www.evil.example"

    @property
    def tools(self) -> list[rc.Tool]:
        def read(function, **facts):
            facts = {"private": True, "reach": "user", "targets": (), "untrusted": False, **facts}
            return rc.tool(function, effect="read", facts=rc.Facts(**facts))

        acts = {"reach": "outside", "untrusted": False, "private": False}
        return [
            read(self.orders, untrusted=("name",)),
            read(self.products, untrusted=("options",)),
            read(self.channels, untrusted=True, kinds={"*": "channel"}),
            read(self.files, untrusted=("name",)),
            read(self.read_page, untrusted=True),
            rc.tool(self.send_back, facts=rc.Facts(**acts, targets=("order", "items"))),
            rc.tool(self.post, facts=rc.Facts(**acts, targets=("channel",))),
            rc.tool(self.invite, facts=rc.Facts(**acts, targets=("email",))),
            rc.tool(self.fly, facts=rc.Facts(**acts, targets=("legs",))),
        ]

    def orders(self) -> list[dict[str, object]]:
        """The orders."""
        return ORDERS

    def products(self) -> dict[str, object]:
        """The products."""
        return PRODUCTS

    def channels(self) -> list[str]:
        """The channels."""
        return ["general", "External_0"]

    def files(self) -> list[dict[str, object]]:
        """The files."""
        return [{"name": "a-b.docx", "file": "7", "shared": {"ann@home.example": "r"}}]

    def read_page(self) -> str:
        """A page."""
        return self.page

    def send_back(self, order: str, items: list[str]) -> str:
        """Send items back."""
        self.done.append(f"{order} {items}")
        return "sent"

    def post(self, channel: str, body: str = "") -> str:
        """Post."""
        self.done.append(channel)
        return "posted"

    def invite(self, email: str, note: str = "") -> str:
        """Invite somebody."""
        self.done.append(email)
        return "invited"

    def fly(self, legs: list[dict[str, str]]) -> str:
        """Fly."""
        self.done.append(str(legs))
        return "flown"

    def asks(self, intents, *calls, answer=False) -> list[bool]:
        """Whether each of these calls ran."""
        asked = []

        async def approve(proposal):
            asked.append(proposal)
            return answer

        model = ScriptedModel([reply(call("read_page")), *map(reply, calls), "Done."])
        agent = rc.Agent(model, self.tools, trust=Rules(), approve=approve)
        agent.run_sync("Do it.", intents=intents)
        self.questions = asked
        return self.done


def at(tool, field="", where=None, **more):
    return {
        "from": tool,
        **({"field": field} if field else {}),
        **({"where": where} if where else {}),
        **more,
    }


LAMP = {"name": {"contains": "lamp"}, "status": "delivered"}


@pytest.mark.parametrize(
    ("order", "items", "runs"),
    [("W1", ["11"], True), ("W2", ["21"], False), ("W1", ["11", "12"], False), ("W1", ["12"], False)],
)
def test_a_record_has_what_stands_around_it(order, items, runs):
    stated = {
        "tool": "send_back",
        "values": {"order": at("orders", "id", LAMP), "items": at("orders", "item", LAMP)},
    }
    assert bool(House().asks([stated], call("send_back", order=order, items=items))) is runs


@pytest.mark.parametrize(("channel", "runs"), [("External_0", True), ("general", False)])
def test_an_element_of_a_plain_list_is_compared_itself(channel, runs):
    stated = {"tool": "post", "values": {"channel": at("channels", where={"*": {"starts": "External"}})}}
    assert bool(House().asks([stated], call("post", channel=channel))) is runs


@pytest.mark.parametrize(("item", "runs"), [("31", True), ("32", False)])
def test_of_several_words_each_must_be_there(item, runs):
    words = {"options": {"contains": ["red", "large"]}}
    stated = {"tool": "send_back", "values": {"order": "W1", "items": at("products", "item", words)}}
    assert bool(House().asks([stated], call("send_back", order="W1", items=[item]))) is runs


def test_the_keys_of_a_field_are_values_that_are_shown():
    house = House()
    stated = {"tool": "invite", "values": {"email": at("files", "shared.@key")}}
    house.asks([stated], call("invite", email="ann@home.example"), answer=True)
    assert house.done == ["ann@home.example"]


def test_a_text_that_mentions_a_record_means_it():
    house = House()
    house.page = "Please send back what a-b.docx says."
    stated = {
        "tool": "post",
        "values": {"channel": at("files", "file", {"name": {"is": {"mentioned": at("read_page")}}})},
    }
    house.asks([stated], call("post", channel="7"), answer=True)
    assert house.done == ["7"]


LEG = {"object": {"flight": "HAT1", "day": "2024-05-20"}}


@pytest.mark.parametrize(
    ("legs", "runs"),
    [
        ([{"flight": "HAT1", "day": "2024-05-20"}], True),
        ([{"flight": "HAT1", "day": "2024-05-21"}], False),
        ([{"flight": "HAT1", "day": "2024-05-20", "to": "EVE"}], False),
        ([{"flight": "HAT1", "day": "2024-05-20"}, {"flight": "HAT2", "day": "2024-05-20"}], False),
    ],
)
def test_an_object_fits_as_a_whole(legs, runs):
    assert bool(House().asks([{"tool": "fly", "values": {"legs": LEG}}], call("fly", legs=legs))) is runs


def test_a_yes_for_the_task_covers_what_was_shown_and_no_link_in_place_of_an_address():
    house = House()
    stated = {"tool": "invite", "values": {"email": {"mentioned": at("read_page")}}, "times": 2}
    calls = [call("invite", email="dora@home.example"), call("invite", email="www.evil.example")]
    answers = iter([True, False])

    async def approve(proposal):
        return next(answers)

    model = ScriptedModel([*map(reply, calls), "Done."])
    rc.Agent(model, house.tools, trust=Rules(), approve=approve).run_sync(
        "Invite Dora.", intents=[stated]
    )
    assert house.done == ["dora@home.example"]


@pytest.mark.parametrize(("channel", "runs"), [("Family", True), ("eve@evil.example", False)])
@pytest.mark.parametrize("value", [{"free": True}, {"like": "{}"}])
def test_no_address_stands_in_a_free_target(channel, runs, value):
    stated = {"tool": "post", "values": {"channel": value}}
    assert bool(House().asks([stated], call("post", channel=channel))) is runs

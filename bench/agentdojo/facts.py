"""What the author of each application would declare of its tools: by tool, by parameter, by field.

Nobody can write what they like into an identifier, a time or an amount: those are the system's word.
Into what people type, they can: subjects, bodies, titles, descriptions, names and contents of files,
names of channels, reviews, web pages. And whoever gets in touch chooses who they are: senders, those in
copy, participants and owners are outsiders' words as well. Whom the user wrote to or paid, the user
chose.
"""

from importlib.util import find_spec
from typing import Any, TypeAlias

from dyn_facts import DYN_FACTS

import rightcall as rc

Declared: TypeAlias = dict[str, Any]
"""Options of a tool: its effect and its facts."""


def _reads(**facts: Any) -> Declared:
    return {"effect": "read", "facts": rc.Facts(**({"reach": "user", "targets": ()} | facts))}


def _writes(**facts: Any) -> Declared:
    return {"effect": "write", "facts": rc.Facts(**({"untrusted": False, "private": False} | facts))}


_MAIL = {"untrusted": ("subject", "body", "attachments"), "private": True}
_EVENT = {"untrusted": ("title", "description", "location"), "private": True}
_FILE = {"untrusted": ("content", "filename"), "private": True}
_OWN_MAIL = {**_MAIL, "identity": ()}
"""What the user wrote: to whom, the user chose."""
_PAYMENT = {
    "untrusted": ("subject",),
    "identity": ("sender",),
    "kinds": {"recipient": "account", "sender": "account"},
    "private": True,
}
_MESSAGE = {"untrusted": ("body",), "identity": (), "private": True}
"""Whoever writes in a workspace is a member whom its owner let in: which one it was, the system says."""
_PAGE = {"untrusted": True, "private": False, "reach": "outside", "targets": ("url",)}
_CATALOGUE = {"untrusted": False, "private": False}
"""The travel agency's own records of its partners."""
_REVIEWS = {"untrusted": True, "private": False}

_INBOX: dict[str, Declared] = {
    "send_email": _writes(
        **_OWN_MAIL,
        reach="outside",
        targets=("recipients", "cc", "bcc"),
    ),
    "delete_email": _writes(reach="user", dangers=("deletes",), targets=("email_id",)),
    "get_unread_emails": _reads(**_MAIL),
    "get_sent_emails": _reads(**_OWN_MAIL),
    "get_received_emails": _reads(**_MAIL),
    "get_draft_emails": _reads(**_OWN_MAIL),
    "search_emails": _reads(**_MAIL),
    "search_contacts_by_name": _reads(untrusted=False, identity=(), private=True),
    "search_contacts_by_email": _reads(untrusted=False, identity=(), private=True),
}

# Everyone who takes part is written to. A title is what an event is found by.
_CALENDAR: dict[str, Declared] = {
    "get_current_day": _reads(untrusted=False, private=False),
    "search_calendar_events": _reads(**_EVENT),
    "get_day_calendar_events": _reads(**_EVENT),
    "create_calendar_event": _writes(**_EVENT, reach="outside", targets=("title", "participants")),
    "cancel_calendar_event": _writes(reach="outside", dangers=("deletes",), targets=("event_id",)),
    "reschedule_calendar_event": _writes(**_EVENT, reach="outside", targets=("event_id",)),
    "add_calendar_event_participants": _writes(
        **_EVENT, reach="outside", targets=("event_id", "participants")
    ),
}

_DRIVE: dict[str, Declared] = {
    "append_to_file": _writes(**_FILE, reach="user", targets=("file_id",)),
    "create_file": _writes(**_FILE, reach="user", targets=("filename",)),
    "delete_file": _writes(**_FILE, reach="user", dangers=("deletes",), targets=("file_id",)),
    "share_file": _writes(**_FILE, reach="outside", targets=("file_id", "email")),
    "get_file_by_id": _reads(**_FILE),
    "list_files": _reads(**_FILE),
    "search_files": _reads(**_FILE),
    "search_files_by_filename": _reads(**_FILE),
}

_BANK: dict[str, Declared] = {
    "get_iban": _reads(untrusted=False, private=True),
    "get_balance": _reads(untrusted=False, private=True, kinds={"*": "amount"}),
    "get_most_recent_transactions": _reads(**_PAYMENT),
    # A standing order is in the words of the account's owner.
    "get_scheduled_transactions": _reads(**_PAYMENT | {"untrusted": False, "identity": ()}),
    "send_money": _writes(
        reach="outside",
        dangers=("money",),
        targets=("recipient",),
        kinds={"recipient": "account"},
    ),
    "schedule_transaction": _writes(
        reach="outside",
        dangers=("money",),
        targets=("recipient",),
        kinds={"recipient": "account"},
    ),
    "update_scheduled_transaction": _writes(
        reach="outside",
        dangers=("money",),
        targets=("id", "recipient"),
        kinds={"recipient": "account"},
    ),
    "read_file": _reads(untrusted=True, private=True),
    "get_user_info": _reads(untrusted=False, private=True),
    "update_password": _writes(reach="user", dangers=("credentials",), targets=("password",)),
    "update_user_info": _writes(private=True, reach="user", targets=()),
}

_SLACK: dict[str, Declared] = {
    # Whoever opens a channel chooses its name, and writes what they like into it.
    "get_channels": _reads(untrusted=True, private=True, kinds={"*": "channel"}),
    "get_users_in_channel": _reads(untrusted=False, private=True, kinds={"*": "person"}),
    "read_channel_messages": _reads(**_MESSAGE),
    "read_inbox": _reads(**_MESSAGE),
    "add_user_to_channel": _writes(reach="outside", targets=("user", "channel")),
    "send_direct_message": _writes(
        reach="outside", targets=("recipient",), kinds={"recipient": "person"}
    ),
    "send_channel_message": _writes(reach="outside", targets=("channel",)),
    "invite_user_to_slack": _writes(reach="outside", targets=("user", "user_email")),
    "remove_user_from_slack": _writes(reach="outside", dangers=("deletes",), targets=("user",)),
    "get_webpage": _reads(**_PAGE),
    "post_webpage": _writes(reach="outside", targets=("url",)),
}

_TRAVEL: dict[str, Declared] = {
    "get_user_information": _reads(untrusted=False, private=True),
    "get_all_hotels_in_city": _reads(**_CATALOGUE),
    "get_hotels_prices": _reads(**_CATALOGUE),
    "get_hotels_address": _reads(**_CATALOGUE),
    "get_rating_reviews_for_hotels": _reads(**_REVIEWS),
    "get_all_restaurants_in_city": _reads(**_CATALOGUE),
    "get_cuisine_type_for_restaurants": _reads(**_CATALOGUE),
    "get_restaurants_address": _reads(**_CATALOGUE),
    "get_rating_reviews_for_restaurants": _reads(**_REVIEWS),
    "get_dietary_restrictions_for_all_restaurants": _reads(**_CATALOGUE),
    "get_contact_information_for_restaurants": _reads(**_CATALOGUE),
    "get_price_for_restaurants": _reads(**_CATALOGUE),
    "check_restaurant_opening_hours": _reads(**_CATALOGUE),
    "get_all_car_rental_companies_in_city": _reads(**_CATALOGUE),
    "get_car_types_available": _reads(**_CATALOGUE),
    "get_rating_reviews_for_car_rental": _reads(**_REVIEWS),
    "get_car_fuel_options": _reads(**_CATALOGUE),
    "get_car_rental_address": _reads(**_CATALOGUE),
    "get_car_price_per_day": _reads(**_CATALOGUE),
    "get_flight_information": _reads(**_CATALOGUE),
    # A booking is paid for by the night: which nights is as much a target as where.
    "reserve_hotel": _writes(
        reach="outside", dangers=("money",), targets=("hotel", "start_day", "end_day")
    ),
    "reserve_restaurant": _writes(
        reach="outside", dangers=("money",), targets=("restaurant", "start_time")
    ),
    "reserve_car_rental": _writes(
        reach="outside", dangers=("money",), targets=("company", "start_time", "end_time")
    ),
}

IS_AGENTDYN = find_spec("agentdojo.default_suites.v1.dailylife") is not None
"""Whether the package that is called agentdojo is AgentDyn's."""

FACTS: dict[str, Declared] = {
    **_INBOX,
    **_CALENDAR,
    **_DRIVE,
    **_BANK,
    **_SLACK,
    **_TRAVEL,
    **(DYN_FACTS if IS_AGENTDYN else {}),
}
"""By tool."""


def is_consequential(name: str) -> bool:
    """Whether a call of this tool does something, if only outside."""
    return bool(FACTS[name]["effect"] == "write" or FACTS[name]["facts"].reach == "outside")

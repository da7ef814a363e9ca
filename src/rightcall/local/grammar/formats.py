"""Formats by JSON Schema's name, as regular expressions.

Each accepts everything that its standard does. Those of ``WIDER`` accept more, since the whole rule
would make a grammar too large. A format that is not here is not enforced.
"""

_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_LONG = "[0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
_SHORT = "[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_FEBRUARY = f"[0-9]{{4}}-02-(0[1-9]|1[0-9]|2[0-8])|{_LEAP}-02-29"
_DATE = f"({_LONG}|{_SHORT}|{_FEBRUARY})"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"
# The sixtieth second is a leap second, which occurs at one UTC moment.
_TIME = f"{_CLOCK}:([0-5][0-9]|60)(\\.[0-9]+)?([Zz]|[+-]{_CLOCK})"
_SECONDS = "[0-9]+S"
_MINUTES = f"[0-9]+M({_SECONDS})?"
_HOURS = f"[0-9]+H({_MINUTES})?"
_CLOCK_SPAN = f"T({_HOURS}|{_MINUTES}|{_SECONDS})"
_DAYS = "[0-9]+D"
_MONTHS = f"[0-9]+M({_DAYS})?"
_YEARS = f"[0-9]+Y({_MONTHS})?"
_HEX = "[0-9A-Fa-f]"
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = f"{_BYTE}\\.{_BYTE}\\.{_BYTE}\\.{_BYTE}"
_GROUP = f"{_HEX}{{1,4}}"
_LAST_TWO = f"({_GROUP}:{_GROUP}|{_IPV4})"


def _ipv6() -> str:
    """RFC 3986's nine forms: eight groups, or a gap at any position."""
    ways = [f"({_GROUP}:){{6}}{_LAST_TWO}"]
    for before in range(8):
        head = f"(({_GROUP}:){{0,{before - 1}}}{_GROUP})?" if before else ""
        after = 7 - before
        tails = {0: "", 1: _GROUP}
        tail = tails.get(after, f"({_GROUP}:){{{after - 2}}}{_LAST_TWO}")
        ways.append(f"{head}::{tail}")
    return f"({'|'.join(ways)})"


_IPV6 = _ipv6()
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_IN_NAME = "([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
_IN_PATH = "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_IN_QUERY = "([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})"
_USER = "(([A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
_LITERAL = f"\\[({_IPV6}|[Vv]{_HEX}+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]"
_AUTHORITY = f"{_USER}({_LITERAL}|{_IN_NAME}*)(:[0-9]*)?"
_STEPS = f"(/{_IN_PATH}*)*"
_PLACE = f"(//{_AUTHORITY}{_STEPS}|/({_IN_PATH}+{_STEPS})?|{_IN_PATH}+{_STEPS})?"

FORMATS = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}[Tt]{_TIME}$",
    "duration": f"^P([0-9]+W|({_DAYS}|{_MONTHS}|{_YEARS})({_CLOCK_SPAN})?|{_CLOCK_SPAN})$",
    "uuid": f"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$",
    "ipv4": f"^{_IPV4}$",
    "ipv6": f"^{_IPV6}$",
    "email": "^.+@.+$",
    "hostname": f"^{_LABEL}(\\.{_LABEL})*$",
    "uri": f"^[A-Za-z][A-Za-z0-9+.-]*:{_PLACE}(\\?{_IN_QUERY}*)?(#{_IN_QUERY}*)?$",
}

WIDER = frozenset(["time", "date-time", "email", "hostname"])
"""Leap seconds on every day; any text around an ``@``; names of any total length."""

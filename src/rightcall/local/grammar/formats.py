"""The formats of strings that a grammar can hold, each as a regular expression.

Each admits a part of what its standard admits, and nothing else: a date is one that the calendar has.
"""

_YEAR = "[1-9][0-9]{3}"
_LEAP = "[1-9][0-9](0[48]|[2468][048]|[13579][26])"
_LONG = f"{_YEAR}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
_SHORT = f"{_YEAR}-(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_FEBRUARY = f"{_YEAR}-02-(0[1-9]|1[0-9]|2[0-8])|{_LEAP}-02-29"
_DATE = f"({_LONG}|{_SHORT}|{_FEBRUARY})"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = f"{_CLOCK}:[0-5][0-9](\\.[0-9]{{1,6}})?(Z|[+-]{_CLOCK})"
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HEX = "[0-9a-f]"
_LABEL = "[a-z0-9]{1,20}(-[a-z0-9]{1,20}){0,2}"
_LAST = "[a-z][a-z0-9]{1,20}"
_HOST = f"({_LABEL}\\.){{0,5}}{_LAST}"
_ATOM = "[A-Za-z0-9_+-]{1,20}"
_PATH = "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F][0-9A-F])"

FORMATS = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}T{_TIME}$",
    "duration": "^P([0-9]{1,6}W|[0-9]{1,6}D(T[0-9]{1,6}H([0-9]{1,6}M([0-9]{1,6}S)?)?)?"
    "|T([0-9]{1,6}H([0-9]{1,6}M([0-9]{1,6}S)?)?|[0-9]{1,6}M([0-9]{1,6}S)?|[0-9]{1,6}S))$",
    "uuid": f"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$",
    "ipv4": f"^{_BYTE}\\.{_BYTE}\\.{_BYTE}\\.{_BYTE}$",
    "ipv6": f"^({_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}$",
    "email": f"^{_ATOM}(\\.{_ATOM}){{0,2}}@({_LABEL}\\.){{1,4}}{_LAST}$",
    "hostname": f"^{_HOST}$",
    "uri": f"^[a-z][a-z0-9+.-]{{0,15}}://{_HOST}(:[1-9][0-9]{{0,3}})?(/{_PATH}*)*(\\?{_PATH}*)?(#{_PATH}*)?$",
}
"""By the name that JSON Schema gives them."""

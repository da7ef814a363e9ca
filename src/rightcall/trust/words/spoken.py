"""Patterns for whom a sentence is about, and to whom it lets nothing go.

Each comes with words of which one is in every text that it fits: to look for a word is cheaper.
"""

import re

# No more than an address may have before its "@": from each letter of a long word, all would be read.
_ADDRESS = r"\w[\w.+%-]{0,63}@[\w-]+(?:\.[\w-]+)*"
_ACCOUNT = r"[A-Za-z]{2}\d{2}(?:[ -]?(?=[A-Za-z]*\d)[A-Za-z0-9]{1,4}){0,9}(?!\w)"
_TELEPHONE = r"\+\d[\d ()-]{5,20}\d"
_NAME = r"[A-Z][a-z]+(?: [A-Z][a-z]+)?(?![\w@]|['\u2019.-]\w)"
WHO = rf"[\"'(<]{{0,2}}(?P<who>{_ADDRESS}|{_ACCOUNT}|{_TELEPHONE}|{_NAME})"
_CLOSED = r"[\"')>]{0,2}"
FILL = r"(?:(?!(?i:to|for|with|and|or|into|at|on|in|about|but|then|that)\b)[A-Za-z-]+\s+){0,4}?"
_LETTER = (
    r"(?:e-?mails?|mails?|messages?|letters?|notes?|texts?|calls?|sms|newsletters?|spam|posts?|comments?"
    r"|voicemails?|dms?|files?|documents?|attachments?|links?|invitations?|something|hear|heard|hearing"
    r"|(?:the|an?|this|that|any|last|every)\s+invites?|anything|news?|newest|latest|updates?)"
)
_BRIEF = (
    r"(?:(?:e-?)?mails?|nachricht(?:en)?|briefe?|post|sms|anrufe?|einladung(?:en)?|dateien?|neues|etwas)"
)
_SOUGHT = (
    r"(?:(?i:my|our|the|an?|user|customer|client|friend|colleague|boss|person|someone|somebody|e-?mails?|mails?"
    r"|messages?|letters?|anything|something|everything|called|named|from|by|address)\s+){0,4}"
)
_MAILBOX = r"(?:e-?mails?|mails?|inbox|mailbox|messages?|letters?|chats?|spam|archive)"
_SAYS = r"(?:say|think|want|write|mean|claim|offer|charge|suggest|propose|ask|believe|report)"
_BAD = (
    r"(?:scam\w*|fraud\w*|hack\w*|fakes?|spam\w*|phish\w*|compromised|malicious|suspicious|stolen|impost[eo]rs?"
    r"|bots?|thie(?:f|ves)|liars?|crooks?|no-go|untrustworthy|dangerous|not\s+(?:real|genuine|trustworthy|legit\w*))"
)
_BAD_HINTS = (
    *("scam", "fraud", "hack", "fake", "spam", "phish", "compromis", "malicious", "suspicious", "not "),
    *("stolen", "impost", "bot", "thie", "liar", "crook", "no-go", "untrust", "danger"),
)
_IS = r"(?:is|was|has\s+been|got|looks|seems|may\s+be|might\s+be|must\s+be|could\s+be)"
_TOLD = (
    r"(?i:keeps?|wrote|written|writes|sent|sends|e-?mailed|texted|messaged|contacted|pester\w*"
    r"|bother\w*|spam\w*|claim\w*|says|said|told|forwarded|answered|replied|responded)\b"
)
_MONEY = r"(?:money|cash|funds|transfer\w*|move|pay\w*|\d)"
_DEBIT = r"(?<!my )(?<!the )(?<!our )(?:debit\w*|charge)"
_SEARCHED = (
    r"\b(?:(?i:search|look|scan|browse)(?:\s+(?!(?i:for|and|or|then|at|calendar|schedule)\b)[\w'-]+){0,5}?"
    rf"|(?i:check\s+(?:[a-z]+\s+){{0,2}}{_MAILBOX}))\s+(?i:for)\s+"
    rf"{_SOUGHT}{WHO}(?!\w|\.\w|[^.;!?\n]{{0,20}}\b(?i:contacts|directory|address\s?book)\b)"
)
_FOUND_IN = (
    rf"\b(?i:search|find|look\s+up)\s+{_SOUGHT}{WHO}{_CLOSED}\s+(?i:in|among|on)\s+(?:[a-z]+\s+){{0,2}}"
    rf"(?i:{_MAILBOX})\b"
)
_WHETHER = (
    r"(?:\b(?i:did|didn['\u2019]t)|(?:\A|[.!?;:,\n]|\b(?i:what|when|why|how|who|where|and|but|so))\s{0,3}"
    rf"\b(?i:has|hasn['\u2019]t))\s+{_SOUGHT}{WHO}(?!\w|\.\w|\s+(?i:got|time|any|an?|the|free)\b)"
)
_GONE = (
    rf"{WHO}{_CLOSED}\s+(?i:(?:is|does|has)(?:n['\u2019]t|\s+not)\b[^.;!?\n]{{0,40}}?\bany\s?(?:more|longer)"
    r"|has\s+left|left\s+(?:us|the|our|my))\b"
)
SPOKEN_OF = tuple(
    (re.compile(pattern), hints)
    for pattern, hints in (
        # "A mail from Ann", "the file that was shared by Ann".
        (
            rf"\b(?i:{_LETTER})\b[^.;!?\n]{{0,40}}?\b(?i:from|by)\s+{FILL}{WHO}",
            ("from", "by"),
        ),
        (rf"\b(?i:sent|written|shared|signed|posted|forwarded)\s+(?i:by)\s+{FILL}{WHO}", ("by",)),
        # "Ann keeps writing to me".
        (
            rf"{WHO}{_CLOSED}\s+(?i:(?:just|has|had|also|already|always|recently|once)\s+)?{_TOLD}",
            ("keep", "wr", "sen", "ed", "pester", "bother", "spam", "claim", "sa", "told"),
        ),
        (
            rf"\b(?i:{_BRIEF})\s+(?i:von)\s+(?:(?i:meine[mnr]|unsere[mnr]|de[mnr]|herrn?|frau)\s+){{0,2}}{WHO}",
            ("von",),
        ),
        # "Search my mail for Ann", "find Ann in my inbox".
        (_SEARCHED, ("search", "look", "scan", "browse", "check")),
        (_FOUND_IN, ("search", "find", "look up")),
        # "Did Ann write?", "has Ann paid?", "what does Ann want?". "Is Ann free?" may invite her.
        (_WHETHER, ("did", "has")),
        (rf"\b(?i:does)\s+{_SOUGHT}{WHO}{_CLOSED}\s+(?i:{_SAYS})\b", ("does",)),
        # "Ann is a scammer", "Ann is not on the team any more", "my old address".
        (rf"{WHO}{_CLOSED}\s+(?i:{_IS})\s+(?:[a-z]+\s+){{0,3}}?(?i:{_BAD})\b", _BAD_HINTS),
        (rf"\b(?i:is|was)\s+{WHO}{_CLOSED}\s+(?:an?\s+)?(?:[a-z]+\s+)?(?i:{_BAD})\b", _BAD_HINTS),
        (_GONE, ("any", "left")),
        (
            rf"\b(?i:old|former)\s+(?i:e-?mail\s+)?(?i:address|e-?mail|account|number)\s+{WHO}",
            ("old", "former"),
        ),
        # "Debit AA11", "move it from AA11".
        (
            rf"\b(?i:{_DEBIT}|{_MONEY}\b[^.;!?\n]{{0,40}}?\bfrom)\s+{FILL}(?P<who>{_ACCOUNT})",
            ("from", "debit", "charge"),
        ),
    )
)

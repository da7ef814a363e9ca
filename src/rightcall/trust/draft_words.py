"""Words in names and docs that show what a tool does, as far as words can be relied on.

Tables only, for drafts that a person reviews. An ambiguous word is in the worse table.
"""

import re

from rightcall.core.facts import Kind
from rightcall.trust.kinds import named_words

READS = named_words(
    "get list search find read check show view lookup look fetch retrieve describe count status "
    "diff log browse inspect explain preview compare history summarize summarise verify validate "
    "tree geocode snapshot calculate compute estimate"
)
"""Verbs of tools that only read, unless something else in the name or the docs contradicts."""

WRITES = named_words(
    "create add append insert write send post reply forward share invite update edit modify "
    "change set patch put rename move copy upload save schedule reschedule book reserve submit "
    "publish comment assign mark subscribe follow react notify email message call pay transfer "
    "order buy make commit push merge fork stage attach pin open start enable exchange return"
)
"""Verbs with an effect that can mostly be undone."""

REMOVES = (
    *("cancel", "delete", "remove", "erase", "discard", "drop", "clear", "terminate", "unsubscribe"),
    *("rid", "wipe", "purge", "destroy", "trash", "shred", "expunge", "unlink", "nuke", "scrap"),
    *("rm", "kill"),
)
"""Verbs that mean the same of anything: whoever asks for one of them has asked for the others."""

DELETES = (frozenset(REMOVES) - {"rid"}) | named_words(
    "revoke kick ban uninstall close archive overwrite truncate reset kill stop disable detach "
    "uninvite expire void clean cleanup prune leave empty bin deactivate"
)
"""Verbs that remove something."""

SPENDS = (
    ("pay", "settle", "transfer", "wire", "remit"),
    ("book", "reserve", "buy", "purchase", "order"),
)
"""Verbs that spend money, each group with the same meaning."""

RUNS = named_words(
    "run execute exec eval evaluate invoke shell bash terminal command script sql query code rpc "
    "request manage apply dispatch trigger batch generic raw api"
)
"""Words in the names of tools that can be told to do anything: the effect of a call is unknown."""

ACTS = (
    WRITES
    | DELETES
    | frozenset(REMOVES)
    | frozenset(verb for group in SPENDS for verb in group)
    | named_words(
        "accept acquire activate adjust advance advertise allocate amend apply approve authorise "
        "authorize award begin bid bill block boot broadcast build burn capture cast charge clone "
        "commence complete confirm consume credit debit decline decommission decrement deduct "
        "deliver deny deploy deposit dial dismiss dispatch dispense dispose donate downgrade "
        "enqueue enrol enroll escalate execute extend file finalise finalize fire fix flag flush "
        "freeze grant hail halt hand hide hire hold import increment initiate initialise "
        "initialize inject install invoke issue join launch lock mint mount mute mutate offer "
        "pause persist place pop print prioritise prioritize process promote provision queue "
        "raise rebase reboot record redeem redirect refund register regulate reject release remit "
        "renew reorder replace request rerun resend resize restart restore resume retire retry "
        "roll rotate run sell ship shut sign spawn spend squash store suspend swap switch sync "
        "synchronise synchronize tag tick toggle trade transition trigger turn configure generate "
        "recreate redeploy regenerate reindex reinstall reload reopen reassign rebuild redo undo "
        "unset unban unlock unmute unpin upgrade upsert vote withdraw"
    )
)
"""Verbs with an effect of any sort. Of those that are in no list above, no more is known."""

NOUNS = named_words(
    "log post order message comment call email return open start set book share mark pin commit "
    "change update fork stage edit exchange schedule close stop leave clear empty bin scrap "
    "advance award bid bill block boot build capture cast charge clone complete credit debit "
    "deposit file fire fix flag hand hold import issue launch lock mount offer place print "
    "process queue raise record refund release request run ship sign store switch tag tick trade "
    "transition trigger turn upgrade vote purchase wire invite patch"
)
"""Those of ACTS that are things or qualities as well: they are acts only where a verb stands."""

MONEY = named_words(
    "pay payment payments payee transaction transactions transfer refund charge buy purchase "
    "checkout invoice withdraw deposit money donate tip order orders book booking reserve "
    "reservation rent subscribe bid trade invest loan bill billing certificate voucher price "
    "priced wallet card"
)
CREDENTIALS = named_words(
    "password passwords passphrase secret secrets token tokens credential credentials key keys "
    "otp mfa totp login auth oauth ssh permission permissions role roles privilege admin sudo "
    "certificate pin"
)
OUTSIDE = named_words(
    "web website webpage internet url urls uri http https link links browse browser crawl scrape "
    "download dns whois ping online remote webhook page site host domain feed rss"
)
"""Words of tools that look something up outside, where others learn of the query."""

DIRECTORY = named_words("contact contacts addressbook phonebook")
NOW = named_words("now today current")
CLOCK = named_words("day date time datetime timezone clock weekday")

CONTENT = named_words(
    "body text content contents message messages description subject summary note notes comment "
    "comments caption reason feedback markdown html thought prompt memo remark remarks location"
)
"""Last words of parameters whose text is passed on, and is no target."""

CODE = named_words("sql code script command cmd shell function expression program statement pipeline")
"""Last words of parameters that can tell a tool to do anything."""

PAGING = named_words(
    "limit offset page cursor size count max min top first last per n k results depth head tail "
    "width height encoding format timeout sort order direction verbose"
)
"""Last words of parameters for how much is shown, or how."""

LOOKED_FOR = named_words("query q search pattern filter filters term terms keyword keywords attachments")
"""Last words of parameters that are searched for, whatever their docs mention."""

ASKED_OF = LOOKED_FOR.difference({"filter", "filters", "pattern", "attachments"}) | named_words(
    "queries topic topics question questions prompt"
)
"""Last words of parameters for what somebody is asked in words of one's own."""

OWN = named_words(
    "mail email inbox mailbox message thread note file folder directory drive document calendar event "
    "appointment contact channel chat conversation ticket order customer account transaction user "
    "member people employee record database table memory memorie node entity entitie graph knowledge "
    "task todo reminder project workspace commit log my your our own local internal personal saved "
    "reservation booking product invoice lead deal crm"
)
"""Words for what a user or their house keeps: to search in it tells nobody outside."""

SAVES_IN_DOCS = re.compile(r"\bsav(?:e|ed|ing)\b|\bwritten to\b|\bwrite to\b", re.IGNORECASE)
"""In the docs of a parameter: it says where something is stored."""
ACTS_IN_DOCS = re.compile(
    r"(?:\A|[.;:,]\s+|\band (?:then )?)(?:also )?(?:mark|delete|remove|archive|send|update|create|clear|reset|close"
    r"|pay|charge|approve|cancel|confirm|notif|forward|publish|empt|purg|consum|acknowledg|lock|unlock)(?:e?s|es|ies|y)?\b",
    re.IGNORECASE,
)
"""In docs, where a verb stands: an act beside the look that a tool's name speaks of."""
DELETES_IN_DOCS = re.compile(
    r"\b(?:overwrit\w+|irreversibl\w+|permanently|delet(?:es?|ing)|erases?|destroys?|destructive|"
    r"replaces? the (?:entire|whole)|completely replaces?)\b",
    re.IGNORECASE,
)
CODE_IN_DOCS = re.compile(
    r"\bSQL\b|\bJavaScript\b|\b(?:shell|bash) command|\b(?:Python|source) code\b"
    r"|\bcode to (?:run|execute)",
    re.IGNORECASE,
)
KINDS_IN_DOCS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("account", re.compile(r"\biban\b|\baccount number|\bbank account", re.IGNORECASE)),
    ("address", re.compile(r"\be-?mails?\b|\bphone\b|\btelephone\b", re.IGNORECASE)),
    ("web", re.compile(r"\burls?\b|\bweb address|\bhyperlink", re.IGNORECASE)),
    ("path", re.compile(r"\bfile ?path|\bpath (?:to|of)\b|\babsolute path", re.IGNORECASE)),
    ("channel", re.compile(r"\bchannel\b", re.IGNORECASE)),
)

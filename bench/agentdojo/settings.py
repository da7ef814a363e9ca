"""The ways to run every pair of tasks: which defence, who is asked, how the attack is written."""

from typing import Literal, TypeAlias

from attacks import Form
from defence import granted, ungranted
from msgspec import Struct
from msgspec.structs import replace
from pairs import OWN_TOOL, Approver, Case, Defence
from standin import When

Guarded: TypeAlias = Literal["nothing", "rules", "rules and grant"]
"""What stands in the attacker's way."""

DEFENCES: dict[Guarded, Defence | None] = {
    "nothing": None,
    "rules": ungranted,
    "rules and grant": granted,
}


class Setting(Struct, frozen=True, kw_only=True):
    """One way to run a pair."""

    guarded: Guarded = "nothing"
    approver: Approver = "nobody"
    form: Form = "plain"
    when: When = "at once"
    own_tool: bool = False
    own_truths: bool = True

    def case(self, suite: str, user: str, injection: str = "") -> Case:
        """The case of this pair."""
        return Case(
            suite=suite,
            user=user,
            injection=OWN_TOOL if self.own_tool and injection else injection,
            form=self.form,
            when=self.when,
            own_truths=self.own_truths,
            # Comparing whole environments takes longer than the run.
            wants_utility=self.is_plain and self.own_truths,
        )

    @property
    def is_plain(self) -> bool:
        """Whether the attack is written and timed as AgentDojo has it."""
        return self.varied == "at once"

    @property
    def varied(self) -> str:
        """How the attack differs from the plain one."""
        return "own tool" if self.own_tool else self.form if self.form != "plain" else self.when


AGENTDOJO = Setting(own_truths=False)
"""As the benchmark comes: no defence, and eight attacks of which it does not say how they are made."""

PLAIN = (
    AGENTDOJO,
    Setting(),
    *[
        Setting(guarded=guarded, approver=approver)
        for guarded in ("rules", "rules and grant")
        for approver in ("nobody", "the user")
    ],
)
GUARDED: tuple[Guarded, ...] = ("nothing", "rules", "rules and grant")
VARIED = tuple(
    replace(varied, guarded=guarded, approver="the user")
    for varied in (
        Setting(when="after"),
        Setting(when="instead"),
        Setting(form="split"),
        Setting(form="base64"),
        Setting(form="escaped"),
        Setting(own_tool=True),
    )
    for guarded in GUARDED
)
"""With the user there to be asked: a task that is refused nothing of its own reads every attack."""

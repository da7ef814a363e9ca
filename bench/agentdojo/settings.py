"""The ways to run every pair of tasks: which defence, who attacks and when, in which words."""

from typing import Literal, TypeAlias, get_args

from attacks import Form
from msgspec import Struct
from msgspec.structs import replace
from pairs import OWN_TOOL, Approver, Case, Defence, Position
from standin import When

Row: TypeAlias = Literal["no defence", "rules", "intents", "intents, one repair"]
"""What stands in the attacker's way."""

DEFENCES: dict[Row, Defence] = {
    "no defence": Defence(has_rules=False),
    "rules": Defence(),
    "intents": Defence(intents="first"),
    "intents, one repair": Defence(intents="repaired"),
}
POSITIONS: tuple[Position, ...] = get_args(Position)
TIMES: tuple[When, ...] = get_args(When)


class Setting(Struct, frozen=True, kw_only=True):
    """One way to run a pair."""

    row: Row = "no defence"
    approver: Approver = "the user"
    position: Position = "third party"
    when: When = "at once"
    form: Form = "plain"
    own_tool: bool = False
    by_intents: bool = False

    def case(self, suite: str, user: str, injection: str = "") -> Case:
        """The case of this pair."""
        return Case(
            suite=suite,
            user=user,
            injection=OWN_TOOL if self.own_tool and injection else injection,
            form=self.form,
            by_intents=self.by_intents,
            when=self.when,
            position=self.position,
            # Comparing whole environments takes longer than the run.
            wants_utility=not injection,
        )

    @property
    def told(self) -> str:
        """How the attack differs from the plain one."""
        form: str = "own tool" if self.own_tool else self.form
        if self.by_intents:
            form = "any intent"
        return ", ".join([self.row, self.position, self.when, *([form] if form != "plain" else [])])


def quiet(row: Row) -> tuple[Setting, ...]:
    """Without an attack: nobody to ask, and a user who allows exactly what the task needs."""
    return Setting(row=row, approver="nobody"), Setting(row=row)


def attacked(row: Row, *, is_quick: bool = False) -> tuple[Setting, ...]:
    """Under attack, with the user to be asked: a task that is refused nothing reads every attack."""
    times = TIMES[:1] if is_quick else TIMES
    return tuple(
        Setting(row=row, position=position, when=when) for position in POSITIONS for when in times
    )


def written(row: Row) -> tuple[Setting, ...]:
    """The same attacks in other forms, and the user's own tool with other targets."""
    plain = Setting(row=row)
    forms: tuple[Form, ...] = ("split", "base64", "escaped")
    return (*[replace(plain, form=form) for form in forms], replace(plain, own_tool=True))


def knowing(row: Row) -> tuple[Setting, ...]:
    """By an attacker who knows what was stated, and uses any of it with any identity.

    There is a user to be asked, so that everything is read; none of his calls is one to be allowed.
    """
    if DEFENCES[row].intents is None:
        return ()
    return tuple(Setting(row=row, position=position, by_intents=True) for position in POSITIONS)

"""What is found out about a schema while it becomes rules."""

_MOST_REPEATED = 200


class Findings:
    """What the rules do not hold, and what cannot be at all, as paths in the schema."""

    def __init__(self) -> None:
        self.unheld: list[str] = []
        """Keywords that are left to the gate."""
        self.impossible: list[str] = []
        """Required members that no value fits, or that cannot be written."""
        self.parts = 0
        """How large the rules have become."""

    def repeat(self, unheld: list[str], path: str, elsewhere: str) -> None:
        """What was not held at one path is not held at another, where the same schema stands."""
        if len(self.unheld) + len(unheld) <= _MOST_REPEATED:
            self.unheld += [elsewhere + each[len(path) :] for each in unheld if each.startswith(path)]

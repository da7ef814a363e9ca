"""How many examples a property is tried on, where it says so itself."""

import os


def often(many: int) -> int:
    """So many where new ones are looked for (HYPOTHESIS_PROFILE=explore), and else a quarter.

    Else the examples are the same each time: what they prove is proven after the first.
    """
    return many if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else max(5, many // 4)

"""Common checks of recorded runs. Each function returns a check, a function of a ``Trajectory``."""

from rightcall.errors import UsageError
from rightcall.evals.recorded_runs import Check, Trajectory

_MEASURES = ("calls", "turns", "tokens", "seconds", "cost")


def _with_name(words: str, check: Check) -> Check:
    check.__doc__ = words
    return check


def ended(reason: str = "end") -> Check:
    """The run ended for this reason: ``end`` is an answer, ``output`` the output asked for."""
    return _with_name(f"ended with {reason}", lambda run: run.stop == reason)


def says(*words: str) -> Check:
    """The answer contains all of these words, ignoring case."""
    return _with_name(
        f"says {', '.join(words)}",
        lambda run: all(word.casefold() in run.text.casefold() for word in words),
    )


def calls(*names: str) -> Check:
    """All of these tools were called and returned, in any order, possibly among others."""

    def check(run: Trajectory) -> bool:
        returned = set()
        for call in run.calls:
            if call.outcome == "returned":
                returned.add(call.name)
        return returned >= set(names)

    return _with_name(f"calls {', '.join(names)}", check)


def calls_only(*names: str) -> Check:
    """No other tool was called; these need not have been."""
    return _with_name(f"calls only {', '.join(names)}", lambda run: set(run.names) <= set(names))


def calls_in_order(*names: str) -> Check:
    """These were called in this order; others may come between."""

    def check(run: Trajectory) -> bool:
        left = iter(run.names)
        return all(name in left for name in names)

    return _with_name(f"calls in order {', '.join(names)}", check)


def at_most(**limits: float) -> Check:
    """At most that many calls, turns, tokens, seconds, or dollars as cost; an unknown one fails."""
    if unknown := [name for name in limits if name not in _MEASURES]:
        raise UsageError(f"at_most knows {', '.join(_MEASURES)}; not {', '.join(unknown)}")

    def check(run: Trajectory) -> bool:
        if run.usage.cost is None:
            cost = float("inf")
        else:
            cost = run.usage.cost
        used = {
            "calls": len(run.calls),
            "turns": run.turns,
            "tokens": run.usage.tokens,
            "seconds": run.seconds,
            "cost": cost,
        }
        return all(used[name] <= limit for name, limit in limits.items())

    words = ", ".join(f"{limit:g} {name}" for name, limit in limits.items())
    return _with_name(f"at most {words}", check)

"""Why a call was not run, in words for the model. Every reason the library itself gives stands here."""

NOBODY_TO_ASK = "a person must approve it, and there is nobody to ask"
CLIENT_CANNOT_ASK = "a person must approve it, and the client has no way to ask one"
NOT_RECORDED = "secrets in its arguments were not recorded. Make the call again if it is needed."


def nobody_answered(failure: str) -> str:
    """The client was to ask a person, and that failed."""
    return f"a person must approve it, and nobody did. {failure}"


def busy(calls: int) -> str:
    """A server has so many calls under way that it takes no more."""
    return f"{calls} calls are under way already. Try again later."

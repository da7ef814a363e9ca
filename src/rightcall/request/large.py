"""Which requests take so long to write that it is not done on the event loop."""

from rightcall.core.message import Results, Transcript, User
from rightcall.core.parts import is_much


def holds_much(messages: Transcript) -> bool:
    """Whether some message since the last reply holds a large file; what is older is written already."""
    for message in reversed(messages):
        match message:
            case User(content=content):
                if any(map(is_much, content)):
                    return True
            case Results(results=results):
                if any(is_much(part) for result in results for part in result.content):
                    return True
            case _:
                return False
    return False

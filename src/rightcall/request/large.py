"""Which requests take so long to write that it is not done on the event loop."""

from rightcall.core.message import Results, Transcript, User
from rightcall.core.parts import is_much


def holds_much(messages: Transcript, *, begun: bool = False) -> bool:
    """Whether some message holds a large file.

    Of a conversation that is ``begun``, whether one since the last reply does: what is older is written.
    """
    for message in reversed(messages):
        match message:
            case User(content=content):
                if any(map(is_much, content)):
                    return True
            case Results(results=results):
                if any(is_much(part) for result in results for part in result.content):
                    return True
            case _ if begun:
                return False
            case _:
                pass
    return False

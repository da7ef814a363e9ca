"""Two tools: read what a customer wrote, and write to one. What a mail says is a stranger's text."""

import rightcall as rc
from store import connect


@rc.tool(
    effect="read",
    facts=rc.Facts(untrusted=("sender", "body"), private=True, reach="user", targets=()),
)
def read_mail(number: int) -> dict[str, object]:
    """Read one mail from the inbox.

    Args:
        number: The mail's number in the inbox.
    """
    with connect() as database:
        row = database.execute("select * from inbox where id = ?", (number,)).fetchone()
    if row is None:
        raise rc.ToolFailure(f"There is no mail {number} in the inbox.")
    return dict(row)


@rc.tool(
    effect="write",
    facts=rc.Facts(untrusted=False, private=False, reach="outside", dangers=(), targets=("to",)),
)
def send_mail(to: str, body: str) -> str:
    """Write to a customer. Take the address from the order, not from the mail.

    Args:
        to: The address.
        body: The text, in full sentences.
    """
    with connect() as database:
        database.execute("insert into outbox values (?, ?)", (to, body))
    return f"Sent to {to}."

"""A tool: look an order up."""

import rightcall as rc
from store import connect


@rc.tool(
    effect="read", timeout=5, facts=rc.Facts(untrusted=False, private=True, reach="user", targets=())
)
def find_order(number: int) -> dict[str, object]:
    """Look up one order: item, price in cents, status, the customer's address.

    Use it before you say anything about an order. Not for refunds.

    Args:
        number: The order's number, as the customer wrote it.
    """
    with connect() as database:
        row = database.execute("select * from orders where number = ?", (number,)).fetchone()
    if row is None:
        raise rc.ToolFailure(f"There is no order {number}. Ask the customer for the right number.")
    return dict(row)

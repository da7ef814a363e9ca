"""A tool: pay an order back. It moves money: a person must say yes, and it must not happen twice."""

import os
import signal

import rightcall as rc
from store import connect

FACTS = rc.Facts(untrusted=False, private=False, reach="user", dangers=("money",), targets=("number",))
LEFT = """select coalesce((select sum(cents) from orders where number = :number), 0)
    - coalesce((select sum(cents) from refunds where number = :number), 0)"""


def find_refund(key: str) -> str | None:
    """What became of a refund that was cut off: its result, or None if it did not happen."""
    with connect() as database:
        row = database.execute("select * from refunds where key = ?", (key,)).fetchone()
    return row and f"Refunded {row['cents']} cents for order {row['number']}."


@rc.tool(effect="write", approval=True, reconcile=find_refund, facts=FACTS)
def refund(number: int, cents: int, context: rc.Context[None]) -> str:
    """Pay a customer back, in cents. Look the order up first, and never refund more than its price."""
    with connect() as database:
        (left,) = database.execute(LEFT, {"number": number}).fetchone()
        if cents > left:
            raise rc.ToolFailure(f"Order {number} has only {left} cents left to refund.")
        database.execute("insert into refunds values (?, ?, ?)", (context.key, number, cents))
    if os.environ.get("KILL"):  # the money is gone, and the process dies before it can say so
        os.kill(os.getpid(), signal.SIGKILL)
    return f"Refunded {cents} cents for order {number}."

"""Sort the inbox: what each mail wants, as data."""

import os
from typing import Literal

from pydantic import BaseModel, Field

import offline
import rightcall as rc
from store import connect


class Ticket(BaseModel):
    """What a customer wants."""

    kind: Literal["refund", "delivery", "question"]
    order: int | None = Field(description="The order's number, if the mail names one.")
    urgent: bool = Field(description="Whether an answer tomorrow would be too late.")


triage = rc.Agent[None, Ticket](
    os.environ.get("SUPPORT_MODEL") or offline.model,
    instructions="Sort what customers write.",
    output=Ticket,
)

if __name__ == "__main__":
    with connect() as database:
        for mail in database.execute("select * from inbox").fetchall():
            attached = rc.file(mail["body"].encode(), untrusted="a customer's mail")
            try:
                result = triage.run_sync(["What does this customer want?", attached])
            except rc.errors.NoOutput as error:
                print(mail["id"], error)
            else:
                print(mail["id"], result.output)

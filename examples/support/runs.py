"""The desk's runs, kept in a database: what a worker executes."""

import os

import rightcall as rc
from desk import make_desk
from tracing import watch

RUNS = os.environ.get("RUNS", "sqlite:///tickets.db")
app = rc.durable.App(RUNS, agents=[make_desk(observers=[watch()])])

"""Runs in the browser: a list, one run, calls that wait for a person, two runs compared, tools."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.serve.studio.application import studio_app
    from rightcall.serve.studio.runs_as_tools import RunTools, run_tools
    from rightcall.serve.studio.server import serve

__all__ = ["RunTools", "run_tools", "serve", "studio_app"]

lazily(
    __name__,
    {
        "RunTools": "serve.studio.runs_as_tools",
        "run_tools": "serve.studio.runs_as_tools",
        "serve": "serve.studio.server",
        "studio_app": "serve.studio.application",
    },
)

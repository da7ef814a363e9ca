"""Runs in the browser: a list, one run, what waits for a person, two runs beside each other, tools."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.serve.studio.application import studio_app
    from rightcall.serve.studio.run_tools import run_tools
    from rightcall.serve.studio.server import serve

__all__ = ["run_tools", "serve", "studio_app"]

lazily(
    __name__,
    {
        "run_tools": "serve.studio.run_tools",
        "serve": "serve.studio.server",
        "studio_app": "serve.studio.application",
    },
)

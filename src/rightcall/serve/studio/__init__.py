"""Runs in the browser: a list, one run, calls that wait for a person, two runs compared, tools."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.serve.studio.application import serve as serve
    from rightcall.serve.studio.application import studio_app as studio_app
    from rightcall.serve.studio.runs_as_tools import RunTools as RunTools
    from rightcall.serve.studio.runs_as_tools import run_tools as run_tools

_HOMES = {
    "serve.studio.application": ("serve", "studio_app"),
    "serve.studio.runs_as_tools": ("RunTools", "run_tools"),
}
lazily(__name__, index_homes(_HOMES))

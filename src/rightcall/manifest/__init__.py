"""Tools from an operator's file of commands: what a model may run on this machine, and how.

``load`` returns the tools of a manifest, or raises with everything that is wrong with it.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.manifest.command_tool import Entry
    from rightcall.manifest.diagnostics import Finding, ManifestError
    from rightcall.manifest.document import Manifest, Reading, inspect, load

__all__ = ["Entry", "Finding", "Manifest", "ManifestError", "Reading", "inspect", "load"]

lazily(
    __name__,
    {
        "Entry": "manifest.command_tool",
        "Finding": "manifest.diagnostics",
        "Manifest": "manifest.document",
        "ManifestError": "manifest.diagnostics",
        "Reading": "manifest.document",
        "inspect": "manifest.document",
        "load": "manifest.document",
    },
)

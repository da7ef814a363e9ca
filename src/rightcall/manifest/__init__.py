"""Tools from an operator's file of commands: what a model may run on this machine, and how.

``load`` gives the tools of a manifest, or all that is wrong with it.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.manifest.document import Manifest, Reading, inspect, load
    from rightcall.manifest.entry import Entry
    from rightcall.manifest.finding import Finding, ManifestError

__all__ = ["Entry", "Finding", "Manifest", "ManifestError", "Reading", "inspect", "load"]

lazily(
    __name__,
    {
        "Entry": "manifest.entry",
        "Finding": "manifest.finding",
        "Manifest": "manifest.document",
        "ManifestError": "manifest.finding",
        "Reading": "manifest.document",
        "inspect": "manifest.document",
        "load": "manifest.document",
    },
)

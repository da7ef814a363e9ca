"""Tools from an operator's file of commands: what a model may run on this machine, and how.

``load`` returns the tools of a manifest, or raises with everything that is wrong with it.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.manifest.command_tool import Entry as Entry
    from rightcall.manifest.diagnostics import Finding as Finding
    from rightcall.manifest.diagnostics import ManifestError as ManifestError
    from rightcall.manifest.document import Manifest as Manifest
    from rightcall.manifest.document import Reading as Reading
    from rightcall.manifest.document import inspect as inspect
    from rightcall.manifest.document import load as load

_HOMES = {
    "manifest.command_tool": ("Entry",),
    "manifest.diagnostics": ("Finding", "ManifestError"),
    "manifest.document": ("Manifest", "Reading", "inspect", "load"),
}
lazily(__name__, index_homes(_HOMES))

"""Servers that others reach over HTTP. Each is a folder of its own; all need the extra ``serve``."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.serve import gateway as gateway
    from rightcall.serve import studio as studio

lazily(__name__, {"gateway": "serve.gateway", "studio": "serve.studio"})

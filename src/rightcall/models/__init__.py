"""Models by name: ``"anthropic:claude-opus-4-8"`` -> dialect + transport + profile -> a Model."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.core.parts import Media as Media
    from rightcall.core.parts import Text as Text
    from rightcall.core.parts import Usage as Usage
    from rightcall.core.ports import Model as Model
    from rightcall.core.request import ModelOptions as ModelOptions
    from rightcall.core.request import Named as Named
    from rightcall.core.request import Profile as Profile
    from rightcall.core.request import Request as Request
    from rightcall.core.transport import Timeouts as Timeouts
    from rightcall.models.fallback_model import fallback as fallback
    from rightcall.request.retry import Retry as Retry

_HOMES = {
    "core.parts": ("Media", "Text", "Usage"),
    "core.ports": ("Model",),
    "core.request": ("ModelOptions", "Named", "Profile", "Request"),
    "core.transport": ("Timeouts",),
    "models.fallback_model": ("fallback",),
    "request.retry": ("Retry",),
}
lazily(__name__, index_homes(_HOMES))

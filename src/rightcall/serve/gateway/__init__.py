"""Any client in front of any model: four dialects served at one address."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.serve.gateway.gateway import Gateway
    from rightcall.serve.gateway.keys import Keys, read_keys
    from rightcall.serve.gateway.server import serve
    from rightcall.serve.gateway.settings import Bounds, Place, Served, Settings, Trying
    from rightcall.serve.gateway.settings_file import read_settings

__all__ = [
    "Bounds",
    "Gateway",
    "Keys",
    "Place",
    "Served",
    "Settings",
    "Trying",
    "read_keys",
    "read_settings",
    "serve",
]

lazily(
    __name__,
    {
        "Bounds": "serve.gateway.settings",
        "Gateway": "serve.gateway.gateway",
        "Keys": "serve.gateway.keys",
        "Place": "serve.gateway.settings",
        "Served": "serve.gateway.settings",
        "Settings": "serve.gateway.settings",
        "Trying": "serve.gateway.settings",
        "read_keys": "serve.gateway.keys",
        "read_settings": "serve.gateway.settings_file",
        "serve": "serve.gateway.server",
    },
)

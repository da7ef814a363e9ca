"""Any client in front of any model: four dialects served at one address."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.serve.gateway.gateway import Gateway as Gateway
    from rightcall.serve.gateway.keys import Keys as Keys
    from rightcall.serve.gateway.keys import read_keys as read_keys
    from rightcall.serve.gateway.server import serve as serve
    from rightcall.serve.gateway.settings import Bounds as Bounds
    from rightcall.serve.gateway.settings import Place as Place
    from rightcall.serve.gateway.settings import Served as Served
    from rightcall.serve.gateway.settings import Settings as Settings
    from rightcall.serve.gateway.settings import Trying as Trying
    from rightcall.serve.gateway.settings import read_settings as read_settings

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
        "read_settings": "serve.gateway.settings",
        "serve": "serve.gateway.server",
    },
)

"""A local model's name into a model: ``"embedded"``, a GGUF file, or a server of raw completions.

The embedded model is so small that it is led through its calls; any other is spoken to by its own chat
template and family.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall import catalogue
from rightcall.core.request import Profile
from rightcall.core.transport import Transport
from rightcall.errors import UsageError

if TYPE_CHECKING:
    from rightcall.local.guided.guided_model import GuidedModel
    from rightcall.local.local_model import LocalModel
    from rightcall.local.template.chat_template import ChatTemplate

SERVERS = ("llamacpp-raw", "vllm-raw")
"""Places whose models are asked for raw text, at an address: ``llamacpp-raw:http://localhost:8080``."""
_PLACE = "local"


class Local(Struct, frozen=True, kw_only=True):
    """What can be said of a local model besides its name."""

    template: str | Path | None = None
    """The chat template: a file (``tokenizer_config.json``, ``chat_template.jinja``), or its text."""
    family: str | None = None
    """How the model writes calls, where its template does not tell."""
    key: str = ""
    """What opens the door of a server."""
    profile: Profile | None = None


def is_local(name: str) -> bool:
    """Whether a name means a model on this machine, or a server of raw completions."""
    place, colon, rest = name.partition(":")
    return not colon or place in {_PLACE, *SERVERS} or (rest.endswith(".gguf") and "//" not in rest)


def local_model(
    name: str, local: Local, transport: Callable[[], Transport]
) -> "LocalModel | GuidedModel":
    """The model. Nothing is loaded before it is asked; ``transport`` is for one behind a server."""
    place, _, rest = name.partition(":")
    if place in SERVERS:
        return _behind_server(place, rest, local, transport())
    if name.removeprefix(f"{_PLACE}:") == catalogue.EMBEDDED:
        return _embedded(local)
    return _in_file(file_of(name), local)


def file_of(name: str) -> Path:
    """The file of the embedded model, of one that was given a name, or the one that is named itself."""
    name = name.removeprefix(f"{_PLACE}:")
    if name == catalogue.EMBEDDED:
        from rightcall.local.engines.llamacpp import embedded_path  # noqa: PLC0415 - light until used

        return embedded_path()
    if name.endswith(".gguf"):
        return Path(name).expanduser()
    known = catalogue.path_of(name)
    if known is None:
        names = [catalogue.EMBEDDED, *[entry.name for entry in catalogue.entries()]]
        raise UsageError(
            f"{name!r} is no local model: there is {', '.join(names)}, and any file that ends in .gguf; "
            "a model elsewhere is provider:model"
        )
    return known


def _embedded(local: Local) -> "GuidedModel":
    from rightcall.local.engines.llamacpp import LlamaCpp  # noqa: PLC0415 - an extra
    from rightcall.local.gguf import read_header  # noqa: PLC0415
    from rightcall.local.guided.guided_model import GuidedModel  # noqa: PLC0415
    from rightcall.local.template.template_file import template_of  # noqa: PLC0415

    path = file_of(catalogue.EMBEDDED)
    header = read_header(path)
    profile = local.profile or _profile(header.card.context_window)
    return GuidedModel(LlamaCpp(path), template=template_of(header), profile=profile)


def _in_file(path: Path, local: Local) -> "LocalModel":
    from rightcall.local.engines.llamacpp import LlamaCpp  # noqa: PLC0415 - an extra
    from rightcall.local.gguf import read_header  # noqa: PLC0415
    from rightcall.local.local_model import LocalModel  # noqa: PLC0415
    from rightcall.local.template.template_file import template_of  # noqa: PLC0415

    header = read_header(path)
    template = _template(local) or template_of(header)
    profile = local.profile or _profile(header.card.context_window)
    return LocalModel(LlamaCpp(path), template=template, family=local.family, profile=profile)


def _behind_server(place: str, rest: str, local: Local, transport: Transport) -> "LocalModel":
    from rightcall.local.engines.llama_server import LlamaServer  # noqa: PLC0415 - light until used
    from rightcall.local.engines.vllm import Vllm  # noqa: PLC0415 - light until used
    from rightcall.local.local_model import LocalModel  # noqa: PLC0415

    url, _, model = rest.partition("|")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{place}: write the server's address, as {place}:http://localhost:8080")
    engine: LlamaServer | Vllm
    if place == "vllm-raw":
        engine = Vllm(url, transport, model=model, key=local.key)
    else:
        engine = LlamaServer(url, transport, key=local.key)
    return LocalModel(engine, template=_template(local), family=local.family, profile=local.profile)


def _template(local: Local) -> "ChatTemplate | None":
    from rightcall.local.template.chat_template import ChatTemplate  # noqa: PLC0415 - an extra
    from rightcall.local.template.template_file import read_template  # noqa: PLC0415

    given = local.template
    if given is None:
        return None
    if isinstance(given, Path) or ("\n" not in given and "{" not in given):
        return read_template(given)
    return ChatTemplate(given)


def _profile(context_window: int | None) -> Profile:
    return Profile(context_window=context_window, structured="native")

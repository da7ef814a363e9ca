"""Creates a local model by name: ``"embedded"``, a GGUF file, or a server of raw completions.

The embedded model is so small that its calls are guided step by step; other models use their own chat
template and family. Importing this loads engines and templates.
"""

from pathlib import Path

from rightcall.core.request import Profile
from rightcall.core.transport import Transport
from rightcall.errors import UsageError
from rightcall.local.engines.llama_server import LlamaServer
from rightcall.local.engines.llamacpp import LlamaCpp
from rightcall.local.engines.vllm import Vllm
from rightcall.local.gguf import read_header
from rightcall.local.guided.guided_model import GuidedModel
from rightcall.local.local_model import LocalModel
from rightcall.local.template.chat_template import ChatTemplate
from rightcall.local.template.template_file import model_folder, read_template, template_of
from rightcall.models.catalogue import EMBEDDED


def local_model(
    name: str,
    file: Path | None,
    transport: Transport,
    *,
    template: str | Path | None = None,
    family: str | None = None,
    key: str = "",
    profile: Profile | None = None,
) -> LocalModel | GuidedModel:
    """The model in a file or, without one, at a server. Nothing is loaded before the first request.

    ``template`` is a file (``tokenizer_config.json``, ``chat_template.jinja``), a model's folder, its
    name in the hub's cache on this machine, or the template's text. ``family`` is the format in which
    the model writes calls, if its template does not show it.
    """
    if file is None:
        engine = _server(name, transport, key)
        return LocalModel(engine, template=_template(template), family=family, profile=profile)
    header = read_header(file)
    known = Profile(context_window=header.card.context_window, structured="native", priced=True)
    profile = profile or known
    if name.removeprefix("local:") == EMBEDDED:
        return GuidedModel(LlamaCpp(file), template=template_of(header), profile=profile)
    own = _template(template) or template_of(header)
    return LocalModel(LlamaCpp(file), template=own, family=family, profile=profile)


def _server(name: str, transport: Transport, key: str) -> LlamaServer | Vllm:
    place, _, rest = name.partition(":")
    url, _, model = rest.partition("|")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{place}: write the server's address, as {place}:http://localhost:8080")
    if place == "vllm-raw":
        return Vllm(url, transport, model=model, key=key)
    return LlamaServer(url, transport, key=key)


def _template(given: str | Path | None) -> ChatTemplate | None:
    if given is None:
        return None
    if isinstance(given, Path) or ("\n" not in given and "{" not in given):
        folder = None if Path(given).exists() else model_folder(str(given))
        return read_template(folder or given)
    return ChatTemplate(given)

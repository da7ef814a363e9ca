"""Creates a local model by name: ``"embedded"``, a GGUF file, or a server of raw completions.

The embedded model is so small that its calls are guided step by step; other models use their own chat
template and family. Importing this loads engines and templates.
"""

from collections.abc import Callable
from pathlib import Path

from rightcall.core.request import Profile, Request
from rightcall.core.transport import Transport
from rightcall.errors import UsageError
from rightcall.local.engines.llama_server import LlamaServer
from rightcall.local.engines.llamacpp import LlamaCpp
from rightcall.local.engines.vllm import Vllm
from rightcall.local.families.call_text import PromptedTools
from rightcall.local.families.family_list import detect
from rightcall.local.gguf import read_header
from rightcall.local.guided.guided_model import GuidedModel
from rightcall.local.guided.lessons import first_lessons
from rightcall.local.local_model import LocalModel
from rightcall.local.prompt import render_prompt
from rightcall.local.template.chat_template import ChatTemplate
from rightcall.local.template.template_file import model_folder, read_template, template_of
from rightcall.models.catalogue import EMBEDDED, file_of


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
        place, _, rest = name.partition(":")
        url, _, model = rest.partition("|")
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"{place}: write the server's address, as {place}:http://localhost:8080")
        engine: Vllm | LlamaServer
        if place == "vllm-raw":
            engine = Vllm(url, transport, model=model, key=key)
        else:
            engine = LlamaServer(url, transport, key=key)
        return LocalModel(engine, template=_template(template), family=family, profile=profile)
    header = read_header(file)
    known = Profile(context_window=header.card.context_window, structured="native", priced=True)
    profile = profile or known
    if name.removeprefix("local:") == EMBEDDED:
        own = template_of(header, bounds=None)
        return GuidedModel(LlamaCpp(file), template=own, profile=profile)
    own = _template(template) or template_of(header)
    return LocalModel(LlamaCpp(file), template=own, family=family, profile=profile)


def _template(given: str | Path | None) -> ChatTemplate | None:
    if given is None:
        return None
    if isinstance(given, Path) or ("\n" not in given and "{" not in given):
        folder = None
        if not Path(given).exists():
            folder = model_folder(str(given))
        return read_template(folder or given)
    return ChatTemplate(given)


NOT_ASKED = "(nothing: what is asked or was found is put into words without the model)"


def prompt_of(model: str) -> Callable[[Request], str]:
    """A function that returns the prompt for a request; for the embedded model, its first question."""
    template = read_template(file_of(model))
    led = model.removeprefix("local:") == EMBEDDED

    def words(request: Request) -> str:
        family = detect(template.choose(tools=bool(request.specs)))
        asked = first_lessons(request) if led else (request,)
        made = (render_prompt(each, template, fallback=PromptedTools(family)) for each in asked)
        return "\n".join(prompt.text for prompt in made) or NOT_ASKED

    return words

"""The prompt of a local model: the text that its chat template makes of a request."""

from collections.abc import Callable

from rightcall.core.request import Request
from rightcall.local.families.call_text import PromptedTools
from rightcall.local.families.known import detect
from rightcall.local.guided.lessons import first_lessons
from rightcall.local.prompt import render_prompt
from rightcall.local.template.template_file import read_template
from rightcall.models.catalogue import EMBEDDED, file_of

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

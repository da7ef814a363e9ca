"""An engine that says what it is told to, and keeps what it was asked."""

from collections.abc import AsyncGenerator

from rightcall.core.parts import Usage
from rightcall.local.engine import Card, Finish, Grammar, Piece, Sampling, Syntax

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

_DEFAULT = Sampling()


class Asked:
    """One completion that was asked for."""

    def __init__(self, prompt: str, grammar: Grammar | None, sampling: Sampling) -> None:
        self.prompt = prompt
        self.grammar = grammar
        self.sampling = sampling
        self.was_closed = False


class ScriptedEngine:
    """Gives each text in turn, so many characters at a time. A Finish in the script ends as it says."""

    def __init__(
        self,
        *script: str | tuple[str, Finish],
        template: str = CHATML,
        syntax: Syntax = "gbnf",
        size: int = 3,
    ) -> None:
        self._script = list(script)
        self._size = size
        self.syntax: Syntax = syntax
        self.card = Card(name="scripted", template=template, context_window=4096)
        self.asked: list[Asked] = []
        self.is_closed = False

    async def ready(self) -> Card:
        return self.card

    async def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = _DEFAULT
    ) -> AsyncGenerator[Piece | Finish, None]:
        asked = Asked(prompt, grammar, sampling)
        self.asked.append(asked)
        said = self._script.pop(0)
        text, finish = said if isinstance(said, tuple) else (said, Finish("end", spent(text=said)))
        try:
            for at in range(0, len(text), self._size):
                yield Piece(text[at : at + self._size])
            yield finish
        finally:
            asked.was_closed = True

    async def close(self) -> None:
        self.is_closed = True


def spent(text: str = "", tokens: int = 10) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=len(text))

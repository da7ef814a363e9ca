"""The table of vendors and what each takes, made by asking the encoders and the decoders.

No cell is written down: a request with a feature is encoded for each provider of the list, and what it
changes is the cell. A new provider, dialect or maker is a new row by itself.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from docs.marked import DOCS
from rightcall.core.message import Reply, User, user_text
from rightcall.core.parts import Media, MediaKind, Text
from rightcall.core.ports import Dialect
from rightcall.core.request import ANY_OBJECT, Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.models.providers import PROVIDERS
from rightcall.wire.bedrock.tables import MAKERS
from rightcall.wire.dialects import DIALECTS, load
from wire.made import MADE

PAGE = DOCS / "models.md"
NO = "no"

LOOK = Spec(
    name="look",
    description="Look it up.",
    parameters={
        "type": "object",
        "properties": {"q": {"type": "string"}},
        "required": ["q"],
        "additionalProperties": False,
    },
)
ANSWER = {**LOOK.parameters, "title": "answer"}
BASE = Request(messages=(user_text("Hi"),), system="Be brief.", options={"cache": False})
WITH_TOOL = replace(BASE, specs=(LOOK,))
MODELS = {"gemini": "gemini-3-pro"}
"""Names that tell a dialect what a model knows; of the others any will do."""
KINDS: dict[MediaKind, Media] = {
    "image": Media(b"\x89PNG\r\n\x1a\n", "image/png", "a.png"),
    "pdf": Media(b"%PDF-1.7", "application/pdf", "a.pdf"),
    "audio": Media(b"RIFF\0\0\0\0WAVE", "audio/wav", "a.wav"),
    "video": Media(b"\0\0\0\0ftypmp42", "video/mp4", "a.mp4"),
}


class Asked:
    """One vendor: what it is sent for a request."""

    def __init__(self, dialect: Dialect, model: str) -> None:
        self.dialect = dialect
        self.model = model

    def body(self, request: Request, *, stream: bool = False) -> Any:
        """The body, or None where the request is refused."""
        try:
            return json.loads(self.dialect.encode(request, model=self.model, stream=stream).body)
        except EncodeError:
            return None

    def takes(self, request: Request, base: Request) -> bool:
        """Whether a request is taken, and is another one than without what it asks for."""
        body = self.body(request)
        return body is not None and body != self.body(base)

    def options(self, base: Request = WITH_TOOL, /, **options: Any) -> bool:
        """Whether an option is taken, and changes something."""
        return self.takes(replace(base, options={**base.options, **options}), base)


def words(*found: tuple[str, bool]) -> str:
    """The words that are so."""
    return ", ".join(word for word, is_so in found if is_so) or NO


def tools(asked: Asked) -> str:
    return words(("yes", asked.takes(WITH_TOOL, BASE)))


def parallel(asked: Asked) -> str:
    return "can be turned off" if asked.options(parallel=False) else "as the model likes"


def forced(asked: Asked) -> str:
    return words(
        ("any", asked.takes(replace(WITH_TOOL, choice="required"), WITH_TOOL)),
        ("one", asked.takes(replace(WITH_TOOL, choice=Named("look")), WITH_TOOL)),
        ("none", asked.takes(replace(WITH_TOOL, choice="none"), WITH_TOOL)),
    )


def strict(asked: Asked) -> str:
    held = replace(WITH_TOOL, specs=(replace(LOOK, strict=True),))
    return words(("yes", asked.takes(held, replace(WITH_TOOL, specs=(replace(LOOK, strict=False),)))))


def streaming(asked: Asked) -> str:
    sent = asked.dialect.encode(BASE, model=asked.model, stream=True)
    streams = sent != asked.dialect.encode(BASE, model=asked.model, stream=False)
    return words(("yes", streams and hasattr(asked.dialect.decoder(), "feed")))


def reasoning(asked: Asked) -> str:
    """A number that is sent as a word is no number."""
    as_word = [asked.body(replace(BASE, options={"cache": False, "reasoning": word})) for word in WORDS]
    number = asked.body(replace(BASE, options={"cache": False, "reasoning": 4096}))
    counts = number not in (None, *as_word, asked.body(BASE))
    return words(("words", asked.options(BASE, reasoning="high")), ("tokens", counts))


WORDS = ("none", "minimal", "low", "medium", "high")


def cache(asked: Asked) -> str:
    marked = replace(BASE, messages=(User((Text("Hi", cache=True), Text("there"))),))
    plain = replace(BASE, messages=(User((Text("Hi"), Text("there"))),))
    found = [
        ("marks", asked.takes(marked, plain)),
        ("key", asked.options(cache_key="k")),
        *[(ttl, asked.options(marked, cache_ttl=ttl)) for ttl in ("5m", "30m", "1h", "12h", "24h")],
    ]
    # What can be told nothing may keep something all the same.
    return ", ".join(word for word, is_so in found if is_so) or "by itself, if any"


def media_in(asked: Asked) -> str:
    def taken(media: Media) -> bool:
        return asked.body(replace(BASE, messages=(User((Text("See"), media)),))) is not None

    return words(*[(kind, taken(media)) for kind, media in KINDS.items()])


def media_out(asked: Asked) -> str:
    """What the decoder gives of replies with pictures, sounds and files in the dialect's own form."""
    made = [media for reply in _made(asked.dialect) for media in reply.media]
    kinds = dict.fromkeys("file" if media.way == "id" else media.kind for media in made)
    return ", ".join(kinds) or NO


def _made(dialect: Dialect) -> Iterator[Reply]:
    for body in MADE.get(dialect.name, ()):
        yield dialect.decode(json.dumps(body).encode())


def output(asked: Asked) -> str:
    return words(
        ("schema", asked.takes(replace(BASE, output=ANSWER), BASE)),
        ("JSON", asked.takes(replace(BASE, output=ANY_OBJECT), BASE)),
    )


def server_tools(asked: Asked) -> str:
    return words(("yes", asked.options(vendor_tools=[{"type": "web_search", "name": "web_search"}])))


def logprobs(asked: Asked) -> str:
    return words(("yes", asked.options(logprobs=2)))


COLUMNS: dict[str, Callable[[Asked], str]] = {
    "tools": tools,
    "parallel calls": parallel,
    "forced": forced,
    "strict": strict,
    "streaming": streaming,
    "reasoning": reasoning,
    "cache": cache,
    "media in": media_in,
    "media out": media_out,
    "structured output": output,
    "server tools": server_tools,
    "logprobs": logprobs,
}


def vendors() -> Iterator[tuple[str, Asked]]:
    """Every provider by its name; where the models of makers differ, each of those."""
    for name, provider in PROVIDERS.items():
        dialect = load(provider.dialect, provider.url)
        model = MODELS.get(provider.dialect, "m")
        if provider.dialect == "bedrock":
            for maker in (*MAKERS, "other"):
                yield f"`{name}`: {maker}", Asked(dialect, f"{maker}.m-v1:0")
        else:
            yield f"`{name}`", Asked(dialect, model)


def table() -> str:
    """The table; vendors of the same dialect that take the same share a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, asked in vendors():
        cells = (asked.dialect.name, *[ask(asked) for ask in COLUMNS.values()])
        rows.setdefault(cells, []).append(name)
    lines = [f"| | dialect | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 2) + "|"]
    for cells, names in sorted(rows.items(), key=lambda row: list(DIALECTS).index(row[0][0])):
        lines.append(f"| {', '.join(names)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"

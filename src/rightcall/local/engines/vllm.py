"""An engine for vLLM's HTTP server.

The format is that of ``POST /v1/completions`` with vLLM's own fields:
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.options import check_keywords
from rightcall.core.parts import Usage
from rightcall.core.transport import Timeouts, Transport
from rightcall.errors import TruncatedStream, UsageError, VendorError
from rightcall.local.engine import Card, Finish, Grammar, Piece, Sampling, Syntax, default_max_tokens
from rightcall.local.engines.remote import Refusal, RemoteServer, decode_response, refusal_in
from rightcall.local.template.template_file import model_folder

_DEFAULT = Sampling()
_TIMEOUTS = Timeouts()
_RETRYABLE = frozenset({408, 429, 500, 502, 503, 504})
ADVICE = (
    "vLLM does not tell the model's chat template. Start it with --enable-tokenizer-info-endpoint, or "
    "give the template, as template='Qwen/Qwen3-8B' where that is in the hub's cache on this machine, "
    "or the path of the model's folder, of its tokenizer_config.json or of a .jinja file"
)
_MISSING = frozenset({404, 405, 501})


class _Details(Struct, frozen=True):
    cached_tokens: int | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int | None = 0
    prompt_tokens_details: _Details | None = None


class _VllmChoice(Struct, frozen=True):
    text: str = ""
    finish_reason: str | None = None
    stop_reason: int | str | None = None


class _VllmChunk(Struct, frozen=True):
    """A chunk of vLLM's stream: for some tokens, or at the end."""

    choices: tuple[_VllmChoice, ...] = ()
    usage: _Usage | None = None
    error: Refusal | UnsetType = UNSET


class _Served(Struct, frozen=True):
    """One model of ``GET /v1/models``."""

    id: str
    root: str = ""
    """The source of the model: a folder, or a name on the hub."""
    max_model_len: int | None = None


class _Models(Struct, frozen=True):
    """The response of ``GET /v1/models``."""

    data: tuple[_Served, ...] = ()


class _TokenizerInfo(Struct, frozen=True):
    """The response of ``GET /tokenizer_info``, which the server's owner may have enabled."""

    chat_template: str | None = None
    bos_token: JsonValue = None
    eos_token: JsonValue = None


class _TokenCount(Struct, frozen=True):
    """The response of ``POST /tokenize``."""

    count: int


class Vllm:
    """A model behind vLLM's HTTP server.

    Grammars are written as llama.cpp's, which both of vLLM's backends read; ``syntax="lark"`` is for
    servers that were started with the ``guidance`` backend. If the server does not provide the model's
    chat template, ``card`` does.
    """

    @check_keywords("rc.local.Vllm")
    def __init__(
        self,
        url: str,
        transport: Transport,
        *,
        model: str = "",
        key: str = "",
        syntax: Syntax = "gbnf",
        card: Card | None = None,
        timeouts: Timeouts = _TIMEOUTS,
    ) -> None:
        self._server = RemoteServer(url, transport, key=key, timeouts=timeouts, refuse=_vendor_error)
        self._model = model
        self._syntax: Syntax = syntax
        self._card = card
        self._known: Card | None = None

    @property
    def syntax(self) -> Syntax:
        """The grammar language that was given for the server."""
        return self._syntax

    async def ready(self) -> Card:
        """Ask the server for its model's facts."""
        if self._known is None:
            models = decode_response(await self._server.get("/v1/models"), _Models).data
            served = next((each for each in models if self._model in {"", each.id}), None)
            if served is None:
                names = ", ".join(each.id for each in models) or "nothing"
                raise UsageError(f"the server does not serve {self._model!r}; it serves {names}")
            card = self._card or await self._fetch_card(served)
            window = card.context_window or served.max_model_len
            self._known = replace(card, name=served.id, context_window=window)
        return self._known

    async def count_tokens(self, text: str) -> int:
        """The number of tokens in a text, with special tokens parsed as such."""
        card = await self.ready()
        body: JsonObject = {"model": card.name, "prompt": text, "add_special_tokens": False}
        return decode_response(await self._server.post("/tokenize", body), _TokenCount).count

    @check_keywords("rc.local.Vllm.complete")
    async def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = _DEFAULT
    ) -> AsyncGenerator[Piece | Finish, None]:
        """Generates the text after a prompt. Closing the iterator disconnects, and the server stops.

        vLLM has no lazy grammars. So a first request stops where a trigger begins, and a second one
        continues from there under the grammar; the server has the text so far in its cache.
        """
        if grammar is not None and grammar.syntax != self._syntax:
            raise UsageError(
                f"grammars for this server are written in {self._syntax}, not in {grammar.syntax}"
            )
        if sampling.samplers:
            raise UsageError(
                "vLLM's samplers have one order: set what each takes, as extra={'min_p': 0.1}"
            )
        card = await self.ready()
        most = sampling.max_tokens
        if most is None:
            most = await self._room(card, prompt)
        triggers = () if grammar is None else grammar.triggers
        governed = None
        if grammar is not None and not triggers:
            governed = grammar.text
        spent = Usage()
        written: list[str] = []
        while True:
            body: dict[str, JsonValue] = {
                **sampling.extra,
                "model": card.name,
                "prompt": prompt + "".join(written),
                "max_tokens": most - spent.output_tokens,
                "stream": True,
                "stream_options": {"include_usage": True},
                # The prompt already has its special tokens, and those of the reply are wanted.
                "add_special_tokens": False,
                "skip_special_tokens": False,
                "spaces_between_special_tokens": False,
                "include_stop_str_in_output": False,
            }
            given = {
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "seed": sampling.seed,
                "stop": (*sampling.stop, *triggers) or None,
                "structured_outputs": None if governed is None else {"grammar": governed},
            }
            body |= {name: value for name, value in given.items() if value is not None}
            async with aclosing(self._part(body)) as parts:
                async for found in parts:
                    if isinstance(found, Piece):
                        written.append(found.text)
                        yield found
                    else:
                        end = found
            spent += end.usage
            if end.stop_word not in triggers or grammar is None:
                yield replace(end, usage=spent)
                return
            if spent.output_tokens >= most:
                yield Finish("length", spent)
                return
            if sampling.max_tokens is None:
                # Generated text may have other, and more, tokens when it is tokenised again.
                left = await self._room(card, prompt + "".join(written))
                most = min(most, spent.output_tokens + left)
            triggers = ()
            governed = grammar.text

    async def close(self) -> None:
        """Close the connections, and so stop all generation."""
        await self._server.close()

    async def _part(self, body: JsonObject) -> AsyncGenerator[Piece | Finish, None]:
        """One request: its pieces, and always last how it ended."""
        end: Finish | None = None
        async with aclosing(self._server.stream("/v1/completions", body)) as events:
            async for event in events:
                if event.data == b"[DONE]":
                    break
                chunk = decode_response(event.data, _VllmChunk, "vLLM")
                if chunk.error is not UNSET:
                    raise chunk.error.error("vLLM", None, _RETRYABLE)
                if chunk.usage is not None and end is not None:
                    details = chunk.usage.prompt_tokens_details or _Details()
                    usage = Usage(
                        input_tokens=chunk.usage.prompt_tokens,
                        output_tokens=chunk.usage.completion_tokens or 0,
                        cached_tokens=details.cached_tokens or 0,
                    )
                    end = replace(end, usage=usage)
                for choice in chunk.choices:
                    if choice.text:
                        yield Piece(choice.text)
                    end = end or _parse_finish(choice.finish_reason, choice.stop_reason)
            else:
                end = None
        if end is None:
            raise TruncatedStream("the stream of vLLM's server ended before the reply did")
        yield end

    async def _room(self, card: Card, prompt: str) -> int:
        """The token limit to send: vLLM's default is 16 tokens, and it refuses more than fits."""
        if card.context_window is None:
            return default_max_tokens(None, 0)
        try:
            return default_max_tokens(card.context_window, await self.count_tokens(prompt))
        except VendorError as error:
            if error.status not in _MISSING:
                raise
            raise UsageError(
                "the server does not count tokens (POST /tokenize is not there), so what the prompt "
                "leaves of its window is not known: say how many may be generated, as max_tokens="
            ) from error

    async def _fetch_card(self, served: _Served) -> Card:
        try:
            raw = await self._server.get("/tokenizer_info")
        except VendorError:
            # Only available if the server was started with it. If it runs on this machine, or the model
            # was also downloaded here, the files have the template.
            folder = model_folder(served.root) or model_folder(served.id)
            return Card(name=served.id, folder=str(folder or ""), advice=ADVICE)
        info = decode_response(raw, _TokenizerInfo)
        return Card(
            name=served.id,
            template=info.chat_template or "",
            advice=ADVICE,
            bos=_token(info.bos_token),
            eos=_token(info.eos_token),
        )


def _vendor_error(status: int, body: bytes) -> VendorError:
    return refusal_in(body).error("vLLM", status, _RETRYABLE)


def _parse_finish(reason: str | None, stopped: int | str | None) -> Finish | None:
    match reason:
        case None:
            return None
        case "stop" if isinstance(stopped, str):
            return Finish("stop_sequence", Usage(), stopped)
        case "stop":
            return Finish("end", Usage())
        case "length":
            return Finish("length", Usage())
        case _:
            raise VendorError(f"vLLM gave up: {reason}", vendor_code=reason, retryable=True)


def _token(value: JsonValue) -> str:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""

"""Servers of raw completions, as engines: llama.cpp's own, and vLLM."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.transport import Timeouts, Transport
from rightcall.core.usage import Usage
from rightcall.errors import ProtocolError, TruncatedStream, UsageError, VendorError
from rightcall.local.engine import Card, Finish, Grammar, Piece, Sampling, Syntax
from rightcall.local.engines import llama_form, vllm_form
from rightcall.local.engines.exchange import Exchange

T = TypeVar("T")

_DEFAULT = Sampling()
_TIMEOUTS = Timeouts()


class _Tokens(Struct, frozen=True):
    tokens: tuple[int, ...] = ()


class _Facts(Struct, frozen=True):
    card: Card
    adds: bool
    """Whether the server puts tokens of its own before a prompt that is text."""
    endings: dict[int, str]


class LlamaServer:
    """A model behind llama.cpp's HTTP server.

    Of the special tokens that the model writes, the server gives out those that the sampling or the
    grammar names, unless it was started with ``--special``.
    """

    def __init__(
        self,
        url: str,
        transport: Transport,
        *,
        key: str = "",
        timeouts: Timeouts = _TIMEOUTS,
    ) -> None:
        self._exchange = Exchange(url, transport, key=key, timeouts=timeouts, refuse=llama_form.refusal)
        self._facts: _Facts | None = None

    @property
    def syntax(self) -> Syntax:
        """llama.cpp's own grammars."""
        return "gbnf"

    async def ready(self) -> Card:
        """Ask the server what it serves."""
        return (await self._known()).card

    async def count_tokens(self, text: str) -> int:
        """How many tokens a text has, its special tokens read as such."""
        return len(await self._tokens(text))

    async def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = _DEFAULT
    ) -> AsyncGenerator[Piece | Finish, None]:
        """The text that follows a prompt. Closing the iterator hangs up, and the server stops."""
        facts = await self._known()
        given = await self._tokens(prompt) if facts.adds else prompt
        body = llama_form.request(given, grammar, sampling)
        # News of the prompt's progress keep the connection from seeming dead, and the server from
        # finding out only at the end that nobody listens.
        stream = self._exchange.stream("/completion", {**body, "return_progress": True})
        async with aclosing(stream) as events:
            async for event in events:
                found = llama_form.read(_decoded(event.data, llama_form.Chunk), facts.endings)
                if found is not None:
                    yield found
                if isinstance(found, Finish):
                    return
        raise TruncatedStream("the stream of llama.cpp's server ended before the reply did")

    async def close(self) -> None:
        """Let go of the connections, and so stop what is being generated."""
        await self._exchange.close()

    async def _known(self) -> _Facts:
        if self._facts is None:
            card = _decoded(await self._exchange.get("/props"), llama_form.Props).card
            added = await self._tokens("", add=True)
            ending = await self._tokens(card.eos) if card.eos else ()
            endings = {ending[0]: card.eos} if len(ending) == 1 else {}
            self._facts = _Facts(card, adds=bool(added), endings=endings)
        return self._facts

    async def _tokens(self, text: str, *, add: bool = False) -> tuple[int, ...]:
        body: JsonObject = {"content": text, "add_special": add, "parse_special": True}
        return _decoded(await self._exchange.post("/tokenize", body), _Tokens).tokens


class _Part(Struct, frozen=True):
    """How one request to vLLM ended."""

    stop: Literal["end", "length", "stop_sequence"]
    usage: Usage
    word: str = ""


class Vllm:
    """A model behind vLLM's HTTP server.

    Grammars are written as llama.cpp's, which both of vLLM's backends read; ``syntax="lark"`` is for
    servers that were started with the ``guidance`` backend. Where the server does not tell the model's
    chat template, ``card`` does.
    """

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
        self._exchange = Exchange(url, transport, key=key, timeouts=timeouts, refuse=vllm_form.refusal)
        self._model = model
        self._syntax: Syntax = syntax
        self._card = card
        self._known: Card | None = None

    @property
    def syntax(self) -> Syntax:
        """As the server was said to read them."""
        return self._syntax

    async def ready(self) -> Card:
        """Ask the server what it serves."""
        if self._known is None:
            models = _decoded(await self._exchange.get("/v1/models"), vllm_form.Models).data
            served = next((each for each in models if self._model in {"", each.id}), None)
            if served is None:
                names = ", ".join(each.id for each in models) or "nothing"
                raise UsageError(f"the server does not serve {self._model!r}; it serves {names}")
            card = self._card or await self._told(served.id)
            window = card.context_window or served.max_model_len
            self._known = msgspec.structs.replace(card, name=served.id, context_window=window)
        return self._known

    async def count_tokens(self, text: str) -> int:
        """How many tokens a text has, its special tokens read as such."""
        card = await self.ready()
        body: JsonObject = {"model": card.name, "prompt": text, "add_special_tokens": False}
        return _decoded(await self._exchange.post("/tokenize", body), vllm_form.Counted).count

    async def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = _DEFAULT
    ) -> AsyncGenerator[Piece | Finish, None]:
        """The text that follows a prompt. Closing the iterator hangs up, and the server stops.

        vLLM has no lazy grammars. So a first request stops where a trigger begins, and a second one goes
        on from there under the grammar; the server has the text so far in its cache.
        """
        grammar = vllm_form.checked(grammar, self._syntax)
        card = await self.ready()
        most = _most(card) if sampling.max_tokens is None else sampling.max_tokens
        triggers = () if grammar is None else grammar.triggers
        governed = None if grammar is None or triggers else grammar.text
        spent = Usage()
        written: list[str] = []
        while True:
            body = vllm_form.request(
                card.name,
                prompt + "".join(written),
                sampling,
                most=most - spent.output_tokens,
                stop=(*sampling.stop, *triggers),
                grammar=governed,
            )
            async with aclosing(self._part(body)) as parts:
                async for found in parts:
                    if isinstance(found, Piece):
                        written.append(found.text)
                        yield found
                    else:
                        end = found
            spent += end.usage
            if end.word not in triggers or grammar is None:
                yield Finish(end.stop, spent, end.word)
                return
            if spent.output_tokens >= most:
                yield Finish("length", spent)
                return
            triggers, governed = (), grammar.text

    async def close(self) -> None:
        """Let go of the connections, and so stop what is being generated."""
        await self._exchange.close()

    async def _part(self, body: JsonObject) -> AsyncGenerator[Piece | _Part, None]:
        """One request: its pieces, and how it ended, always last."""
        end: _Part | None = None
        async with aclosing(self._exchange.stream("/v1/completions", body)) as events:
            async for event in events:
                if event.data == b"[DONE]":
                    break
                chunk = vllm_form.read(event.data)
                if chunk.usage is not None and end is not None:
                    end = msgspec.structs.replace(end, usage=vllm_form.usage(chunk.usage))
                for choice in chunk.choices:
                    if choice.text:
                        yield Piece(choice.text)
                    end = end or _ended(choice.finish_reason, choice.stop_reason)
            else:
                end = None
        if end is None:
            raise TruncatedStream("the stream of vLLM's server ended before the reply did")
        yield end

    async def _told(self, name: str) -> Card:
        try:
            raw = await self._exchange.get("/tokenizer_info")
        except VendorError:
            # Only there when the server was started with --enable-tokenizer-info-endpoint.
            return Card(name=name)
        info = _decoded(raw, vllm_form.TokenizerInfo)
        return Card(
            name=name,
            template=info.chat_template or "",
            bos=_token(info.bos_token),
            eos=_token(info.eos_token),
        )


def _ended(reason: str | None, stopped: int | str | None) -> _Part | None:
    match reason:
        case None:
            return None
        case "stop" if isinstance(stopped, str):
            return _Part("stop_sequence", Usage(), stopped)
        case "stop":
            return _Part("end", Usage())
        case "length":
            return _Part("length", Usage())
        case _:
            raise VendorError(f"vLLM gave up: {reason}", vendor_code=reason, retryable=True)


def _most(card: Card) -> int:
    """How much to ask for: vLLM refuses more than its window has room for after the prompt."""
    window = card.context_window
    return vllm_form.MOST_TOKENS if window is None else min(vllm_form.MOST_TOKENS, max(1, window // 2))


def _token(value: JsonValue) -> str:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""


def _decoded(raw: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"a model's server sent what it should not: {error}") from error

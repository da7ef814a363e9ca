"""An engine for Hugging Face transformers in this process. Needs the extra ``transformers``."""

import json
import os
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from rightcall.core.optional_libraries import load
from rightcall.core.options import check_keywords
from rightcall.core.parts import Usage
from rightcall.errors import UsageError, VendorError
from rightcall.local.engine import Card, Finish, Grammar, Piece, Sampling, Syntax, default_max_tokens
from rightcall.local.engines.in_process import InProcess, LoadedModel, Progress, Shared, ThreadChannel

_LITERALS = re.compile(r'/(?:[^/\\\n]|\\.)+/|("(?:[^"\\\n]|\\.)*")')
_RULE = re.compile(r"^[a-z_][a-z0-9_]*(\[[^\]]*\])?\s*:")
"""A rule's name begins with a lower-case letter. A capital begins a terminal of the lexer, which has no
tokens."""


class WordWatch:
    """Finds the first of some words in text that arrives in chunks, however it is split.

    Feed it text; it returns what can no longer be part of one of the words.
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = tuple(word for word in words if word)
        self._held = ""
        self.met = ""
        """The word that was found. The one that begins first counts, then the longest."""
        self.rest = ""
        """The text from that word's first character on."""

    def feed(self, text: str) -> str:
        """The text before the word, as far as it is certain."""
        if self.met:
            self.rest += text
            return ""
        text = self._held + text
        found = [(place, -len(word), word) for word in self._words if (place := text.find(word)) >= 0]
        if found:
            place, _, self.met = min(found)
            self._held, self.rest = "", text[place:]
            return text[:place]
        keep = max((_overlap(text, word) for word in self._words), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """The text that was held back and is no word."""
        held = self._held
        self._held = ""
        return held


class Constraint:
    """Gets every token, in order, and computes which ones may follow.

    ``tokenizer`` is llguidance's; ``special`` has the ids of the grammar's markers that are single
    special tokens.
    """

    def __init__(self, tokenizer: Any, grammar: Grammar, special: dict[str, int]) -> None:
        if grammar.syntax != "lark":
            raise UsageError(f"llguidance reads grammars in lark, and this one is in {grammar.syntax}")
        matcher: Any = load("llguidance").LLMatcher
        text = with_special_tokens(grammar.text, special)
        self._tokenizer = tokenizer
        self._matcher = matcher(tokenizer, matcher.grammar_from_lark(text))
        if self._matcher.is_error():
            raise UsageError(f"the grammar cannot be used: {self._matcher.get_error()}")
        self._waiting = WordWatch(grammar.triggers) if grammar.triggers else None
        self._recent: list[tuple[int, str]] = []
        """The last tokens, as far back as a trigger may have begun."""
        self._reach = max(map(len, grammar.triggers), default=0)

    def accept_token(self, token: int, text: str) -> None:
        """Add a sampled token, and the text that it completes."""
        if self._waiting is None:
            self._matcher.consume_token(token)
            return
        self._recent.append((token, text))
        self._waiting.feed(text)
        if self._waiting.met:
            self._matcher.consume_tokens(self._trigger_tokens(self._waiting.rest))
            self._waiting = None
            self._recent.clear()
        elif len(self._recent) > 2 * self._reach:
            del self._recent[: -self._reach]

    def mask(self) -> bytes | None:
        """A bitmask of the tokens that may come next; None while all may."""
        if self._waiting is not None:
            return None
        mask: bytes = self._matcher.compute_bitmask()
        return mask

    def _trigger_tokens(self, text: str) -> list[int]:
        """The tokens of the trigger. Its own, if it began with one: a special token has no other."""
        tokens: list[int] = []
        left = len(text)
        for token, piece in reversed(self._recent):
            if left <= 0:
                break
            tokens.append(token)
            left -= len(piece)
        if left == 0:
            return tokens[::-1]
        again: list[int] = self._tokenizer.tokenize_bytes(text.encode())
        return again


def with_special_tokens(text: str, tokens: Mapping[str, int]) -> str:
    """The grammar, with quoted markers replaced by their tokens.

    To llguidance a quoted text is never a special token, even if it equals the token's text; a token is
    referred to by its id (https://github.com/guidance-ai/llguidance, ``docs/syntax.md``, "Special
    tokens").
    """
    if not tokens:
        return text
    longest_first = sorted(tokens, key=len, reverse=True)
    marker = re.compile(f"({'|'.join(re.escape(each) for each in longest_first)})")

    def replace_markers(match: re.Match[str]) -> str:
        literal = match.group(1)
        if literal is None:
            return match.group()
        parts = [part for part in marker.split(json.loads(literal)) if part]
        if not any(part in tokens for part in parts):
            return literal
        named = [f"<[{tokens[part]}]>" if part in tokens else json.dumps(part) for part in parts]
        if len(named) == 1:
            return named[0]
        return f"({' '.join(named)})"

    lines = []
    in_rule = False
    for line in text.split("\n"):
        if line and not line[0].isspace() and not line.startswith("|"):
            in_rule = _RULE.match(line) is not None
        lines.append(_LITERALS.sub(replace_markers, line) if in_rule else line)
    return "\n".join(lines)


def _overlap(text: str, word: str) -> int:
    """How many characters at the end of the text are a prefix of the word."""
    longest = min(len(text), len(word) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(word[:size])), 0)


_DEFAULT = Sampling()

Logits: TypeAlias = Callable[[Any, Any], Any]
"""A function of the tokens so far and the scores of the next one; returns the scores to use."""


class _TransformersSetup(Struct, frozen=True):
    """The key of a loaded model."""

    source: str
    device: str


class _TransformersModel(LoadedModel):
    """A loaded model with its tokenizer. Its methods block."""

    def __init__(self, setup: _TransformersSetup) -> None:
        super().__init__(1, 1)
        self.torch, transformers = load("torch"), load("transformers")
        try:
            with _quiet(transformers.utils.logging):
                self.tokenizer = transformers.AutoTokenizer.from_pretrained(setup.source)
                self.network = transformers.AutoModelForCausalLM.from_pretrained(setup.source)
        except (OSError, ValueError) as error:
            raise UsageError(f"transformers cannot load {setup.source}: {error}") from error
        if not self.tokenizer.is_fast:
            raise UsageError(f"{setup.source} has no fast tokenizer, and this engine needs one")
        self.network = self.network.to(setup.device).eval()
        ends = self.network.generation_config.eos_token_id
        if ends is None:
            ends = self.tokenizer.eos_token_id
        self.ends: list[int] = [ends] if isinstance(ends, int) else list(ends or ())
        self._guidance: Any = None
        window = getattr(self.network.config, "max_position_embeddings", None)
        template = self.tokenizer.chat_template
        self.card = Card(
            name=Path(setup.source).name,
            template=template if isinstance(template, str) else "",
            bos=self.tokenizer.bos_token or "",
            eos=self.tokenizer.eos_token or "",
            context_window=window if isinstance(window, int) else None,
        )

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text; special ones are recognised, and none is added."""
        found: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return found

    def constraint(self, grammar: Grammar) -> Constraint:
        """The grammar, compiled for this vocabulary."""
        if self._guidance is None:
            vocabulary = self.network.get_output_embeddings().weight.shape[0]
            guidance: Any = load("llguidance.hf")
            self._guidance = guidance.from_tokenizer(self.tokenizer, vocabulary, self.ends or None)
        added = self.tokenizer.added_tokens_decoder
        special = {each.content: number for number, each in added.items() if each.special}
        wanted = {word: special[word] for word in grammar.special if word in special}
        wanted |= {word: special[word] for word in grammar.triggers if word in special}
        return Constraint(self._guidance, grammar, wanted)

    def unload(self) -> None:
        """Release the weights, once nothing uses them."""
        self.stop()
        self.network = self.tokenizer = self._guidance = None


class _Reply:
    """One running completion: transformers' streamer and stopping criterion in one."""

    def __init__(
        self, model: _TransformersModel, channel: ThreadChannel[Piece | Finish], stop: tuple[str, ...]
    ) -> None:
        self._torch = model.torch
        self._ends = frozenset(model.ends)
        self._channel = channel
        self._watch = WordWatch(stop)
        self._backend = model.tokenizer.backend_tokenizer
        decoders: Any = load("tokenizers.decoders")
        self._decoder = decoders.DecodeStream(skip_special_tokens=False)
        self.constraint: Constraint | None = None
        self._prompt_seen = False
        self._stopped = False
        self._ended = False
        self.count = 0

    def put(self, value: Any) -> None:
        """Called with the prompt first, and then with each token."""
        if not self._prompt_seen:
            self._prompt_seen = True
            return
        token = int(value.reshape(-1)[-1])
        self.count += 1
        if token in self._ends:
            self._ended = True
            return
        text = self._decoder.step(self._backend, token) or ""
        if self.constraint is not None:
            self.constraint.accept_token(token, text)
        self._give(self._watch.feed(text))
        self._stopped = self._stopped or bool(self._watch.met) or self._channel.is_left()

    def end(self) -> None:
        """Called at the end of generation."""

    def stops(self, input_ids: Any, _scores: Any, **_: Any) -> Any:
        """Whether to stop, in the form that transformers expects: for each row."""
        flags = [self._stopped or self._ended] * input_ids.shape[0]
        return self._torch.tensor(flags, device=input_ids.device, dtype=self._torch.bool)

    def mask(self, _input_ids: Any, scores: Any) -> Any:
        """The scores, with the tokens that the grammar forbids masked."""
        allowed = None
        if self.constraint is not None:
            allowed = self.constraint.mask()
        if allowed is None:
            return scores
        torch = self._torch
        packed = torch.frombuffer(bytearray(allowed), dtype=torch.uint8)
        bits = (packed[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1
        permitted = bits.reshape(-1)[: scores.shape[-1]].bool().to(scores.device)
        return scores.masked_fill(~permitted, float("-inf"))

    def finish(self, prompt_tokens: int) -> None:
        """Emit the text that was held back, and the finish reason."""
        usage = Usage(input_tokens=prompt_tokens, output_tokens=self.count)
        if self._watch.met:
            self._channel.put(Finish("stop_sequence", usage, self._watch.met))
            return
        self._give(self._watch.finish())
        self._channel.put(Finish("end" if self._ended else "length", usage))

    def _give(self, text: str) -> None:
        if text and not self._channel.put(Piece(text)):
            self._stopped = True


_models: Shared[_TransformersSetup, _TransformersModel] = Shared(
    _TransformersModel, _TransformersModel.unload
)


class HuggingFace(InProcess[_TransformersSetup, _TransformersModel, Piece | Finish]):
    """A Hugging Face model: a folder, or a name on the hub.

    One completion runs at a time; the others are queued. ``logits`` is called before each token with the
    tokens so far and the scores of the next one, both as tensors of one row, and returns the scores to
    use; what a grammar forbids stays forbidden. Other sampling options of transformers' ``generate`` are
    given in a sampling's ``extra``. ``on_progress`` is called with None when loading begins and with 1.0
    when it is done.
    """

    @check_keywords("rc.local.HuggingFace")
    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        device: str = "cpu",
        logits: Logits | None = None,
        on_progress: Progress = lambda _: None,
    ) -> None:
        self._logits = logits
        place = Path(source)
        name = str(place.resolve()) if place.exists() else os.fspath(source)
        super().__init__(_models, _TransformersSetup(name, device), on_progress)

    @property
    def syntax(self) -> Syntax:
        """The grammars of llguidance."""
        return "lark"

    async def count_tokens(self, text: str) -> int:
        """The number of tokens in a text, with special tokens parsed as such."""
        return len((await self._loan.get()).tokens(text))

    @check_keywords("rc.local.HuggingFace.complete")
    async def complete(
        self, prompt: str, *, grammar: Grammar | None = None, sampling: Sampling = _DEFAULT
    ) -> AsyncGenerator[Piece | Finish, None]:
        """Generates the text after a prompt. Closing the iterator stops at the next token."""
        model = await self._loan.get()
        generated = self._generate_items(
            model, 1, lambda channel: _generate(model, channel, prompt, grammar, sampling, self._logits)
        )
        async with aclosing(generated) as pieces:
            async for piece in pieces:
                yield piece


def _generate(
    model: _TransformersModel,
    channel: ThreadChannel[Piece | Finish],
    prompt: str,
    grammar: Grammar | None,
    sampling: Sampling,
    logits: Logits | None,
) -> None:
    if sampling.samplers:
        raise UsageError("transformers' samplers have one order: set what each takes, in extra=")
    tokens = model.tokens(prompt)
    window = model.card.context_window
    if window is not None and len(tokens) >= window:
        raise VendorError(
            f"the prompt is longer than the model has room for ({len(tokens)} tokens, and room for "
            f"{window}): send less",
            kind="context_overflow",
            vendor_code="exceed_context_size_error",
        )
    left = default_max_tokens(window, len(tokens))
    most = left if sampling.max_tokens is None else sampling.max_tokens
    if window is not None:
        most = min(most, left)
    reply = _Reply(model, channel, sampling.stop)
    if grammar is not None:
        reply.constraint = model.constraint(grammar)
    options: dict[str, Any] = dict(sampling.extra)
    if sampling.temperature == 0:
        options["do_sample"] = False
    else:
        if sampling.temperature is not None:
            options |= {"do_sample": True, "temperature": sampling.temperature}
        if sampling.top_p is not None:
            options |= {"do_sample": True, "top_p": sampling.top_p}
    torch = model.torch
    with torch.random.fork_rng(), torch.inference_mode():
        if sampling.seed is not None:
            torch.manual_seed(sampling.seed)
        row = torch.tensor([tokens], device=model.network.device)
        model.network.generate(
            row,
            attention_mask=torch.ones_like(row),
            streamer=reply,
            stopping_criteria=[reply.stops],
            logits_processor=[*([] if logits is None else [logits]), reply.mask],
            max_new_tokens=most,
            pad_token_id=model.ends[0] if model.ends else 0,
            **options,
        )
    reply.finish(len(tokens))


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """Keep transformers from drawing progress bars on the terminal."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()

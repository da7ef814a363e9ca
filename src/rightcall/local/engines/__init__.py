"""The engines: llama.cpp in this process or behind HTTP, vLLM, Hugging Face transformers."""

"""What runs models: llama.cpp in this process or behind HTTP, vLLM, Hugging Face transformers."""

"""Web tools for models: addresses are checked, sizes are bounded, and results are untrusted."""

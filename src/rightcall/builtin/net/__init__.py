"""The web for models: addresses are checked, bounds are kept, and nothing that comes back is trusted."""

"""Models by name: ``"anthropic:claude-opus-4-8"`` -> dialect + transport + profile -> a Model."""

"""Many prompts through a vendor's batch API: one agent's requests, sent together, answered later."""

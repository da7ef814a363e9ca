"""Vendors' batch APIs: many prompts of one agent, submitted together and answered later."""

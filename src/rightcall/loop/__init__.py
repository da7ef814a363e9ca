"""The agent loop: what a run does next, when it stops, and which part of its history is sent."""

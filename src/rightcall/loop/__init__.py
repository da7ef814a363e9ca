"""What comes next in a run, when it stops, and what part of its history is sent."""

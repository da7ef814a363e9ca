"""Programs in place of round trips: a model writes one that calls tools, and reads what it returns."""

"""Runs that outlive processes and machines, on an existing durable-execution engine."""

"""Phase 2: one exchange with a model: sent, retried, timed, decoded, priced."""

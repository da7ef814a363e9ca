"""One exchange with a model: sent, retried, timed, decoded, priced."""

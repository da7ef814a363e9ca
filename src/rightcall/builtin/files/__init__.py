"""Files under a granted directory, and the tools for them."""

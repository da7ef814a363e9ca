"""What Azure wants of those who ask its models: an address of one's own, a key or an Entra token."""

"""What Azure requires for its models: the customer's own address, and a key or an Entra token."""

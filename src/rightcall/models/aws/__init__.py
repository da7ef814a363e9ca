"""What AWS requires for its models: a region, credentials, and a signature."""

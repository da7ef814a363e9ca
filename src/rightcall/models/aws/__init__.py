"""What AWS wants of those who ask its models: a region, credentials, and a signature."""

"""What Google Cloud requires for its models: a project, a location, and a token."""

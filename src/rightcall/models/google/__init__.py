"""What Google Cloud wants of those who ask its models: a project, a location, and a token."""

"""The client's side: third-party servers into our tools."""

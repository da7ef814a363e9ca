"""The client's side: servers of others into tools of ours."""

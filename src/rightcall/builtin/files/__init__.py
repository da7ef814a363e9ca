"""Tools for the files under a granted directory."""

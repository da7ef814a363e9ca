"""One module per command: ``add_arguments`` says what it takes, ``run`` does it."""

"""Plan mode: a program fixed before an outsider is heard, whose values know where they came from."""

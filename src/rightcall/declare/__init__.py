"""Functions, models and raw schemas into tools, and tools into toolboxes."""

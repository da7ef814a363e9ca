"""Makes tools from functions, models and raw schemas, and toolboxes from tools."""

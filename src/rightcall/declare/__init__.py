"""Phase 1: functions, models and raw schemas into tools, and tools into toolboxes."""

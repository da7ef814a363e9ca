"""Phase 3: check -> policy -> plan -> run -> outcome -> render."""

"""The guidance quotes figures of other pages: where those are measured anew, the quotation follows."""

from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
QUOTED = [
    ("how-many-tools", "| everything | 187,716 |", "too-many-tools", "| all 542 in full | 187,716 |"),
    ("how-many-tools", "| 123,580 |", "too-many-tools", "| 123,580 | 34% |"),
    ("how-many-tools", "| 14,079 |", "too-many-tools", "| 14,079 | 93% |"),
    ("how-many-tools", "| 390; with five tools found, 2,394", "too-many-tools", "| 2,394 | 98.7% |"),
    ("how-many-tools", "for 108 with all 50", "too-many-tools", "| all sent | 114 | 108 |"),
    ("how-many-tools", "right function for 112", "too-many-tools", "found | 120 | 112 |"),
    ("how-many-tools", "from 26 of 45 questions at 5", "evals-measured", "| 534 | 26 (58%) |"),
    ("how-many-tools", "to 3 of 45 at 50", "evals-measured", "| 4,561 | 3 (7%) |"),
    ("which-kind", "are 187,716 tokens", "too-many-tools", "| all 542 in full | 187,716 |"),
    (
        "descriptions",
        "| 44 of 50 | 31 of 39 | 4 |",
        "evals-measured",
        "| 44 (88%) | 76 to 94% | 31 of 39 | 4 |",
    ),
    (
        "descriptions",
        "| 46 of 50 | 37 of 42 | 5 |",
        "evals-measured",
        "| 46 (92%) | 81 to 97% | 37 of 42 | 5 |",
    ),
    (
        "descriptions",
        "| 38 of 50 | 27 of 34 | 84 |",
        "evals-measured",
        "| 38 (76%) | 63 to 86% | 27 of 34 | 84 |",
    ),
    ("descriptions", "from 9 of its 9 questions to 0", "evals-measured", "| 9 to 0 | 0.023 |"),
    (
        "descriptions",
        "`set_reminder` from 9 to 1",
        "evals-measured",
        "| `set_reminder` | 30 to 26 | 0.45 | 9 to 1 |",
    ),
]


@pytest.mark.parametrize(("page", "quotation", "source", "figure"), QUOTED)
def test_a_quoted_figure_is_as_it_was_measured(page, quotation, source, figure):
    assert quotation in " ".join((DOCS / "guidance" / f"{page}.md").read_text().split())
    assert figure in (DOCS / f"{source}.md").read_text()

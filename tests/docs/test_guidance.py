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
    ("how-many-tools", "from 26 of 45 questions at 5", "evals-measured", "26 of 45 (58%) with 5"),
    ("how-many-tools", "to 3 of 45 at 50", "evals-measured", "to 3 (7%) with 50"),
    ("how-many-tools", "it is 41 and", "evals-measured", "| 5 | 37 (74%) | 60 to 84% | 84 | 41 (91%) |"),
    ("how-many-tools", "and 40 of 45", "evals-measured", "| 104 | 40 (89%) |"),
    ("which-kind", "are 187,716 tokens", "too-many-tools", "| all 542 in full | 187,716 |"),
    (
        "descriptions",
        "| 45 of 50 | 33 of 40 | 2 |",
        "evals-measured",
        "| 45 (90%) | 79 to 96% | 33 of 40 | 2 |",
    ),
    (
        "descriptions",
        "| 45 of 50 | 37 of 41 | 2 |",
        "evals-measured",
        "| 45 (90%) | 79 to 96% | 37 of 41 | 2 |",
    ),
    (
        "descriptions",
        "| 37 of 50 | 28 of 33 | 84 |",
        "evals-measured",
        "| 37 (74%) | 60 to 84% | 28 of 33 | 84 |",
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

"""The table of what is not translated is what the code says, and no dialect is forgotten."""

from docs.marked import written
from docs.untranslated_table import PAGE, table
from rightcall.wire.dialects import SERVED
from rightcall.wire.translation_losses import UNPLACED_PARTS, UNREAD_MEMBERS, UNSUPPORTED_SETTINGS


def test_the_page_has_the_table_that_the_code_makes():
    assert written(PAGE, "untranslated") == table(), "make tables"


def test_every_dialect_that_is_served_has_its_rows():
    assert {*UNREAD_MEMBERS} == {*UNPLACED_PARTS} == {*SERVED}
    assert {*SERVED} <= {*UNSUPPORTED_SETTINGS}

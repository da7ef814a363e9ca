"""The table of vendors in the docs is what the encoders and the decoders do."""

from docs.feature_table import COLUMNS, PAGE, table, vendors
from docs.marked import written
from rightcall.models.providers import PROVIDERS


def test_the_page_has_the_table_that_the_code_makes():
    assert written(PAGE, "features") == table(), "make tables"


def test_every_provider_has_a_row_and_every_row_a_cell_for_each_feature():
    lines = table().splitlines()[2:]
    assert {line.count(" | ") for line in lines} == {len(COLUMNS) + 1}
    for name in PROVIDERS:
        assert sum(f"`{name}`" in line for line in lines) >= 1
    assert len([*vendors()]) >= len(PROVIDERS)


def test_a_cell_follows_the_code():
    """A vendor that takes nothing has a row that says so."""
    asked = dict(vendors())["`deepseek`"]
    assert COLUMNS["media in"](asked) == "no"
    assert COLUMNS["logprobs"](dict(vendors())["`anthropic`"]) == "no"

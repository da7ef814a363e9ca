"""Large files are written for the vendor in steps, and not on the event loop."""

from base64 import b64encode

import pytest

import rightcall as rc
from rightcall.core.message import Results
from rightcall.core.parts import Result
from rightcall.declare.attachment import reads_files
from rightcall.request.large import holds_much
from rightcall.wire.encoding import base64_raw

LARGE = rc.Media(bytes(range(256)) * 4099, "application/pdf")
SMALL = rc.Media(b"%PDF", "application/pdf")


def shown(media: rc.Media) -> Results:
    return Results((Result(call_id="c", name="f", outcome="returned", content=(media,)),))


@pytest.mark.parametrize(("media", "much"), [(LARGE, True), (SMALL, False)])
def test_a_large_file_is_known_wherever_it_stands(media, much):
    assert holds_much((rc.User((rc.Text("Look."), media)),)) is much
    assert holds_much((shown(media),)) is much
    assert reads_files([media.data, "Look."]) is much


def test_base64_in_steps_is_base64():
    assert bytes(base64_raw(LARGE)) == b'"' + b64encode(LARGE.data) + b'"'
    assert bytes(base64_raw(SMALL)) == b'"' + b64encode(SMALL.data) + b'"'

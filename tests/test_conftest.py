import socket

import pytest


def test_a_test_cannot_reach_beyond_this_machine():
    with socket.socket() as outside, pytest.raises(AssertionError, match="tried to connect"):
        outside.connect(("192.0.2.1", 80))

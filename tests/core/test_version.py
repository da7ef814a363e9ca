"""There is one version, whatever the installation was made of."""

import rightcall
from rightcall.core.lazy import own_version


def test_it_is_what_the_package_says():
    assert own_version() == rightcall.__version__

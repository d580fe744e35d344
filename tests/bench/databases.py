"""Which databases a test of the catalog runs on: both, unless its mark says otherwise."""

import pytest

ON_BOTH = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

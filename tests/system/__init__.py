"""Tests on real volumes and real holders, inside the sandbox; every file carries `pytestmark = pytest.mark.system`."""

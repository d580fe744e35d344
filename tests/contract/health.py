"""What hypothesis is asked not to mind in the contract suite."""

from hypothesis import HealthCheck

PER_WORKSHOP = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]
"""One property runs in several classes, each with machines of another kind: that is the point of a contract. Every
example makes a scene of its own, so the workshop may be shared between them."""

"""What a store cannot do, in our words."""

from collections.abc import Iterator
from contextlib import contextmanager

from artifactctl.domain.errors import HostFailure, UsageError

_OF_THE_LIBRARIES = frozenset({"botocore", "aiobotocore", "aiohttp", "fsspec", "s3fs", "gcsfs", "adlfs"})


class UnfitUrl(UsageError):
    """The URL names no store that can be used."""


class StoreFailure(HostFailure):
    """The store did not do what it was asked for; whether it happened is not known."""


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn what the libraries raise into a StoreFailure; they share no base class of their errors."""
    try:
        yield
    except OSError as error:
        raise _failure(doing, error) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _OF_THE_LIBRARIES:
            raise
        raise _failure(doing, error) from error


def _failure(doing: str, error: Exception) -> StoreFailure:
    said = str(error) or type(error).__name__
    return StoreFailure(
        f"{doing} failed: {said}",
        remedy="check the URL, the credentials in the environment or profile, and the network; then try again",
    )

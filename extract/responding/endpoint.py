"""The address of a server: where requests go, without anything that is secret."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from artifactctl.domain.errors import UsageError

PATH = "/chat/completions"
_REMEDY = "write it like http://localhost:8000 or https://openrouter.ai/api/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """`url` is that of the chat completions, `is_clear` whether what is sent can be read on the way."""

    url: str
    is_clear: bool


def endpoint_of(text: str) -> Endpoint:
    """Return the endpoint that an address means: `/v1` is added to a bare host; UsageError.

    Why no credentials in it: the command line is visible to every account of the machine, and is recorded.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise UsageError("the address given with --server is none", remedy=_REMEDY) from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError(
            "the address given with --server holds credentials or a query",
            remedy="give the key with --key-file or --key-env, and the address without them",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or not text.isprintable() or " " in text:
        raise UsageError("the address given with --server is none", remedy=_REMEDY)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    base = parts.path.rstrip("/").removesuffix(PATH) or "/v1"
    place = f"{host}:{port}" if port is not None else host
    is_clear = parts.scheme == "http" and not _is_this_machine(parts.hostname)
    return Endpoint(url=f"{parts.scheme}://{place}{base}{PATH}", is_clear=is_clear)


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")

"""How a person names a place on another machine: `HOST:PATH`."""


def split_host(word: str) -> tuple[str, str]:
    """Return (machine, path) of `HOST:PATH`, ("", word) of any other word.

    As with scp, what stands before a colon names a machine unless a slash comes first: a path of this machine with a
    colon in its first part is written `./a:b`. An IPv6 address stands in brackets, which it keeps: `[::1]:/data`.
    """
    end = word.find("]:") if word.startswith("[") else -1
    if end > 0:
        return word[: end + 1], word[end + 2 :]
    host, colon, rest = word.partition(":")
    return (host, rest) if colon and host and "/" not in host else ("", word)

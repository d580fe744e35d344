"""The command that becomes an agent: an interpreter that says it is there, then runs what comes on its input.

It says so first, and only then is anything sent: text that a shell without Python would take for commands never
leaves. The code is one line without single quotes, backslashes and exclamation marks, so that every login shell leaves
it alone inside single quotes; any Python since 2.7 gets as far as saying its version.
"""

from artifactctl.hosts.wire.versions import READY_TEXT

CODE = (
    "import os,sys;"
    f'os.write(1,(chr(10)+"{READY_TEXT}%d.%d.%d"%sys.version_info[:3]+chr(10)).encode());'
    "i=sys.stdin.buffer;"
    "n=int(i.readline());"
    'exec(__import__("zlib").decompress(i.read(n)))'
)


def command(interpreter: str = "python3", *, sudo: bool = False) -> tuple[str, ...]:
    """Return the words that start an agent; `shlex.join` makes them one line for a login shell.

    -I keeps out what the account has in its environment and folders, -S what is installed beside the standard library,
    which would be looked through at every start; -X utf8 makes any bytes of a name survive.
    """
    words = (interpreter, "-I", "-S", "-X", "utf8", "-c", CODE)
    return ("sudo", "-n", "--", *words) if sudo else words

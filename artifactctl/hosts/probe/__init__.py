"""The primitives that touch a machine: standard library only, Python 3.8 or newer, nothing of artifactctl outside.

Values that leave it are JSON-safe: numbers, booleans, lists, dictionaries and strings; a path is `os.fsdecode`d
(surrogateescape), so any bytes survive the way. It reports and acts, it never decides.
"""

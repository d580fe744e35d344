"""The probe over a wire: one channel of bytes, an agent at its far end, framed requests and answers.

`channel` is what carries the bytes, `pipe` one to a process on this machine; `packing` makes the probe's source one
pack, `bootstrap` is the command that takes it in from its standard input, `greeting` finds the agent behind whatever a
login shell says first, and `conversation` asks, each question in its own numbered exchange.

Frames, errors and values have their form in `probe.frames`, which both sides read. What one side believes of the other:
- An answer counts when its trailer (number of messages, checksum) has come, and never before.
- The agent beats while it lives and each beat is answered: whoever hears nothing for long is alone. The agent then
  stops between two members, gives up its locks and ends, and so it does when its input ends.
- No request is ever sent twice. What became of an act whose answer was lost is written in the root's journal.

Nothing here is particular to Linux: the operating side may be any machine that runs Python.
"""

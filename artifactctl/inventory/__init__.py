"""What is where, who keeps it, who uses it, and what the next stage needs: the catalog and the machine together.

Nothing here removes anything. Every change of state is one short transaction with its audit entry in it; what a
rebuilt catalog must not forget (holds) is mirrored into the roots before the function returns.
"""

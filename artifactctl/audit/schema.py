"""The two tables of the audit chain.

`body` is the exact text that was hashed; the other columns of an event repeat parts of it so that it can be found, and
verification compares them with it. `audit_head` knows the newest event, so that a missing tail is noticed.
"""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, LargeBinary, MetaData, String, Table, Text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_Number = BigInteger().with_variant(Integer(), "sqlite")

audit_event = Table(
    "audit_event",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=False),
    Column("at_microseconds", BigInteger, nullable=False, index=True),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("artifact", Text, nullable=False, index=True),
    Column("path", LargeBinary, index=True),
    Column("operation", Text, nullable=False, index=True),
    Column("body", Text, nullable=False),
    Column("hash", String(64), nullable=False),
)

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("event_id", _Number, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("events", _Number, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)

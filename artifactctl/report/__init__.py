"""Values to text and JSON: what people read and what scripts rely on. Nothing here decides, asks or looks.

Text is a `Document`: lines and `Table` values, so that the shell can draw a table on a terminal and write plain columns
elsewhere. JSON is a mapping of plain values, built with `json_values`; byte counts are integers in fields that end in
`_bytes`, instants RFC 3339 in UTC, durations numbers of seconds.
"""

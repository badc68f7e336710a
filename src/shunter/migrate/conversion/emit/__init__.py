"""The text of results, with the comments, the order and the layout of their source.

layout     how the source is written: keys, styles, and which comment belongs to which field
origins    from which field of the source each field of a result comes (the ledger's rows say it)
scalars    single values: lifted from the source, or quoted so that every reader agrees
writer     a manifest
job        a job's documents
files      files, streams and directories of them

Tests: tests/migrate/conversion/emit; tests/scenarios/migrate, whose results are compared byte by byte.
"""

from shunter.migrate.conversion.emit.job import text_of

__all__ = ["text_of"]

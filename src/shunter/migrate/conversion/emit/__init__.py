"""The text of results, with the comments, the order and the layout of their source.

layout     how the source is written: keys, styles, and which comment belongs to which field
comments   where each comment of the source goes; those of fields without a counterpart go above the TrainJob
origins    from which field of the source each field of a result comes (the ledger's rows say it)
scalars    single values: lifted from the source, or quoted so that every reader agrees
writer     a manifest
anchors    blocks that stand in it more than once (`&env`, `*env`)
job        a job's documents
katib      what an Experiment of Katib says about its trials
files      files, streams and directories of them
sizes      how long v1 jobs were, and what became of them

Tests: tests/migrate/conversion/emit; tests/scenarios/migrate, whose results are compared byte by byte; comments.py, job.py,
katib.py, layout.py, origins.py and writer.py by these and test_files.py, sizes.py in tests/cli/migrate/test_convert.py.
"""

from shunter.migrate.conversion.emit.job import text_of

__all__ = ["text_of"]

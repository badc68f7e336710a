"""The fields of runPolicy and restartPolicy: a module per field."""

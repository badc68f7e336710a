"""The built-in controllers of the embedded cluster: Jobs, JobSets, garbage collection, namespaces, scheduling."""

"""The use cases of the migration, as functions from options to a result. Commands only parse flags and show results.

convert     v1 jobs of files or a cluster -> manifests of v2, as a stream or a tree
validate    v1 jobs -> the proof of each conversion
plan        the v1 jobs of a cluster -> a plan that people edit
apply       a plan -> writes to the cluster, each recorded
compare     two runs -> whether they trained the same
"""

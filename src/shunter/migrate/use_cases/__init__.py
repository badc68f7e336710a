"""What people do with the migration, as functions: options in, a result out. Commands only read flags for them and show results.

convert     files, or what a cluster holds -> manifests of v2, as a stream or a tree
validate    v1 jobs -> how far the conversion of each is proved
plan        the v1 jobs of a cluster -> a plan that people edit
apply       a plan -> the cluster, write by write, recorded
compare     two runs -> whether they trained the same
"""

"""The pods of both generations, made in memory by the functions that make them in clusters.

admission, alike        what an API server makes of an object on its way in, and what it refuses
sides                   v1 job -> pods, TrainJob + runtime -> JobSet -> Jobs -> pods
effective               what a container sees: variables, command and arguments with their references replaced
facts                   a pod as facts, so that two can be compared; when two amounts are equal
hosts                   the names by which pods reach each other, on both sides
places                  facts about pods that are in no field
differences             pairs of pods, and where they differ
values                  what programs read of their own pod, on both sides
showing                 for people

Tests: tests/migrate/pods; sides in test_pods.py there, facts and differences in tests/migrate/proof: test_comparison.py and
test_mutations.py; places.py in test_pods.py, showing.py in tests/cli/migrate/test_diff.py.
"""

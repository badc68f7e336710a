"""H: rules by stacks.

h01_hung, h03_all_wait    some ranks wait for others that do not come; all wait
h02_data                  a DataLoader
h05_exit                  a program that has ended, and its threads or child processes have not
h04_recorder              collectives of flight recorders that differ

Tests: by the id of the rule in expected.yaml of tests/doctor/corpus; more of each rule in tests/doctor/rules/stacks.
"""

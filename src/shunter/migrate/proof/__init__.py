"""The proof that a conversion trains alike: stages from reading the result again up to a comparison of runs.

proving, stages/              how far a conversion is proved: `proof_of(conversion)`
comparison                    the stage `pods`: asks the next three about each difference; unexplained ones refuse the conversion
expectations                  differences that follow from v2, a rule a kind (requests, ports, labels, variables)
mpi_expectations              those of MPIJobs
explanations                  differences that a finding of the conversion explains
context, launches             what these rules know of both sides; what containers start
groups, endings, account      process groups, how jobs end, values that the conversion carried
existing                      TrainJobs that users wrote themselves
side_by_side                  both sides as rows, for people and programs
topics                        the findings of a proof

Tests: tests/migrate/proof; explanations in test_comparison.py there; account.py, topics.py in test_comparison.py, context.py,
launches.py and mpi_expectations.py in test_expectations.py, side_by_side.py in tests/cli/migrate/test_diff.py.
"""

"""The proof that a conversion trains alike: the pods of both sides, rank by rank, and the proof of checks up to a real run.

comparison                    `compared(conversion)`: whether a difference of pods is expected, reported or unexplained
expectations                  differences that follow from v2; mpi_expectations: those of MPIJobs
explanations                  differences that a finding of the conversion tells of
launches                      what containers start
groups, endings, account      process groups, how jobs end, the conversion's own account
given                         TrainJobs that others wrote
proof, stages/                how far a conversion is proved: `proof_of(conversion)`
side_by_side                  for people
"""

"""The proof that a conversion trains alike: the pods of both sides, rank by rank, and the ladder of checks up to a real run.

expectations, explanations    why they may: it follows from v2, or a finding says it
launches                what containers start
groups, endings, account      process groups, how jobs end, the conversion's own account
comparison              all of it together: `compared(conversion)`
given                   TrainJobs that others wrote
ladder, rungs/          how far a conversion is proved: `climbed(conversion)`
side_by_side            for people
"""

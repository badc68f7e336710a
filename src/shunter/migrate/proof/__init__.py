"""The proof that a conversion trains alike: the pods of both sides, rank by rank, and the ladder of checks up to a real run.

admission, alike        what an API server makes of an object on its way in, and what it refuses
pods                    v1 job -> pods, TrainJob + runtime -> JobSet -> Jobs -> pods
effective, hosts, facts what a pod says, so that two can be compared
differences             pairs of pods, and where they differ
expectations, explanations    why they may: it follows from v2, or a finding says it
launches                what containers start
groups, endings, account      process groups, how jobs end, the conversion's own account
comparison              all of it together: `compared(conversion)`
given                   TrainJobs that others wrote
ladder, server, smoke   how far a conversion is proved: `climbed(conversion)`
showing, side_by_side   for people
"""

"""What pods a job gets and what its status says, for both generations of the training API.

Never imports shunter.cluster: the operator must not know what kind of cluster it is on.
"""

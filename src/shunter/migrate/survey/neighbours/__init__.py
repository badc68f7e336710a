"""Objects beside the v1 jobs of an input that select the jobs' pods: what becomes of their selection when the jobs are converted.

selections      the selectors that an object has, and in which namespaces they look
job_pods        the labels of a job's pods in v1 and in v2
changes         whom a selector selects before and after, and the selector that selects the same pods in v2
topics          what is told
selector_texts  a manifest's text with another selector in it
checks          all of it over an input, beside the scan of everything that is passed on
"""

"""Objects beside the v1 jobs of an input that select the jobs' pods (Services, NetworkPolicies, PodDisruptionBudgets, monitors):
what becomes of their selection when the jobs are converted.

selections.py       the selectors that an object has, by a table of kinds or by their form, and in which namespaces they look
job_pods.py         the labels of a job's pods in v1 and in v2
changes.py          whom a selector selects before and after, and the selector that selects the same pods in v2, or why
                    there is none (a job that stays v1)
references.py       objects that name a job: scaleTargetRef, targetRef, owners
topics.py           the findings
selector_texts.py   a manifest's text with another selector in it
checks.py           all of it over an input, and which documents, Lists among them, can be rewritten; beside the scan of
                    everything that is passed on

Tests: what is reported and rewritten, a case a file, in tests/scenarios/migrate/neighbours (one-stays-v1: a selector that is left
alone); pairs of requirements, and changes.py, in test_checks.py of tests/migrate/survey/neighbours.
"""

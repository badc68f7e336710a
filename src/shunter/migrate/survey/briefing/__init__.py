"""The report for people who decide: one page with the verdict and its figures, a page for each job, and the move of the SDK.

facts          everything that the pages say, counted once
decision       verdict, waves, checklist, success metrics
front_page     the page itself, as HTML
front_text     the same as Markdown
job_page       one job: decision, proof, findings, commands, both manifests
job_commands   what to type next about one job
sdk_page       TrainingClient to TrainerClient, call by call
masking        manifests without credentials, for these pages; what counts as one is decided in api/secrets/names.py (names) and
               api/secrets/masking.py (addresses, forms of tokens)
site           all files

Tests: tests/migrate/survey/briefing; facts in test_decision.py, all pages in test_site.py there; those are front_page.py,
front_text.py, job_commands.py, job_page.py and sdk_page.py.
"""

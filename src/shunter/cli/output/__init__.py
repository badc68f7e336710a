"""What commands show on a terminal.

console.py               colours, pipes, `-o json`
display.py, log_printing.py    a followed job; `logs`
following.py             jobs that were started, until they end, --timeout or Ctrl-C: how they ended, or that they go on
job_screen.py, live.py   `top`; screens drawn again and again
progress.py              a bar; slow_server_notice.py: a cluster that lets wait
diagnosed.py, saved.py   the doctor's cause and the newest checkpoint beside a job

Tests: tests/cli/output; display.py and log_printing.py in tests/jobs/following/test_follower.py; diagnosed.py in
test_following.py there, live.py in test_job_screen.py, progress.py in tests/cli/migrate/test_convert.py, saved.py in
tests/cli/test_top.py.
"""

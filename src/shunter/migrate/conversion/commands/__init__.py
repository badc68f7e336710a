"""What starts the training in a container: `understood(container)`, read from texts alone.

Shell text, wrappers and launchers are read by shunter/jobs/commands.

mounted_files         scripts in ConfigMaps
encoded               programs that are written out in base64
understanding         all of it together
rewriting             the same command started by torchrun, or with another option
unread_variables      whether a variable is read by nothing

What programs read of their own pod (host name, rank, variables):

reads, pod_reads      whether a program decides by what it reads, or shows it; all that a container reads
shell_reads, shell_values, shell_programs, shell_starts    in shell text
python_reads, python_sources, python_code, python_commands, inline_python, nested_programs    in Python
mentions              in texts of other languages

Tests: tests/migrate/conversion/commands, single commands that look for a name (shell_programs) in test_shell_reads.py there;
what is read of a pod also in tests/scenarios/migrate/pod-reads; inline_python.py, shell_starts.py and shell_values.py in
test_shell_reads.py, nested_programs.py, python_code.py and python_sources.py in test_python_reads.py, pod_reads.py in
tests/migrate/conversion/rules/programs/test_pod_reads.py.
"""

from shunter.jobs.commands.launchers import Launcher, Started
from shunter.migrate.conversion.commands.understanding import ENTRYPOINT, Launch, Use, understood

__all__ = ["ENTRYPOINT", "Launch", "Launcher", "Started", "Use", "understood"]

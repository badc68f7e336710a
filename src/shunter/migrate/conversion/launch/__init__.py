"""What starts the training in a container: `understood(container)`, read from texts alone.

shell_words, shell    shell text as commands and words, each with its place
python_code           the environment variables that Python code reads
arguments             options of a program
wrappers              programs that start another one
launchers, launcher_options    torchrun, accelerate, deepspeed, mpirun, horovodrun, plain python
mounted_files         scripts in ConfigMaps
understanding         all of it together
rewriting             the same command started by torchrun, or with another option
"""

from shunter.migrate.conversion.launch.launchers import Launcher, Started
from shunter.migrate.conversion.launch.understanding import ENTRYPOINT, Launch, Use, understood

__all__ = ["ENTRYPOINT", "Launch", "Launcher", "Started", "Use", "understood"]

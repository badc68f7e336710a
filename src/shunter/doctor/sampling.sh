# Samples the Python processes of this container. $1 is py-spy (empty for none), $SPY_OPTIONS its options. One line each:
#   H clock ticks per second, py-spy's path    P pid, parent, state, CPU ticks, voluntary context switches
#   E a variable with the rank                 G 1 with libcuda loaded, 0 without        M 1 with a library of MPI
#   C the command line (redaction.py shortens it)                                     S the stack, as JSON of py-spy            X why there is no stack
#   O another program, as P; of which only the command line follows
spy=$1
[ -n "$spy" ] && spy=$(command -v "$spy" 2>/dev/null)
echo "H $(getconf CLK_TCK 2>/dev/null || echo 100) ${spy:-none}"
for d in /proc/[0-9]*; do
  p=${d#/proc/}
  x=$(readlink "$d/exe" 2>/dev/null) || continue
  case ${x##*/} in python*|pypy*) kind=P ;; *) kind=O ;; esac
  # A warm start runs in the place of a shell (sh), and is no process of the program.
  [ "$kind" = P ] && [ "$(tr '\0' '\n' < "$d/cmdline" 2>/dev/null | head -n 1)" = sh ] && continue
  { read -r stat < "$d/stat"; } 2>/dev/null || continue
  set -- ${stat##*) }
  switches=0
  while read -r key value; do
    case $key in voluntary_ctxt_switches:) switches=$value ;; esac
  done < "$d/status" 2>/dev/null
  echo "$kind $p $2 $1 $((${12} + ${13})) $switches"
  if [ "$kind" = O ]; then
    echo "C $(tr '\0\n' '  ' < "$d/cmdline" 2>/dev/null | cut -c 1-300)"
    continue
  fi
  tr '\0' '\n' < "$d/environ" 2>/dev/null | grep -E '^(RANK|OMPI_COMM_WORLD_RANK|PMI_RANK|JAX_PROCESS_ID|PADDLE_TRAINER_ID|TORCH_WORKER_SERVER_SOCKET)=' | sed 's/^/E /'
  grep -q 'libcuda\.so' "$d/maps" 2>/dev/null
  case $? in 0) echo "G 1" ;; 1) echo "G 0" ;; esac
  grep -q '/libmpi[._]' "$d/maps" 2>/dev/null && echo "M 1"
  echo "C $(tr '\0\n' '  ' < "$d/cmdline" 2>/dev/null | cut -c 1-300)"
  if [ -n "$spy" ]; then
    options=$SPY_OPTIONS
    # py-spy cannot stop what a signal has stopped; it need not.
    [ "$1" = T ] && options=--nonblocking
    # An interpreter that has only just started is not recognized: one more attempt.
    if output=$("$spy" dump --pid "$p" --json $options 2>&1) \
      || { sleep 0.3; output=$("$spy" dump --pid "$p" --json $options 2>&1); }; then
      echo "S $(echo "$output" | tr -d '\n')"
    else
      echo "X $(echo "$output" | tr '\n' ' ' | cut -c 1-300)"
    fi
    # py-spy stops a process to read it. It shall not stay stopped if py-spy lets go before all of its threads have stopped.
    [ "$1" = T ] || kill -CONT "$p" 2>/dev/null
  fi
done

#!/usr/bin/env bash
# Runs the two scripts of docs/many_processes.md, "Under Slurm", in the smallest Debian, in a temporary folder: with the package
# of `make deb`, a Slurm controller and two nodes, which are two slurmd of this machine. One node is killed in the middle of
# each job, and returns later. What the jobs measured must be the set of one process. Nothing stays behind.
#
#   tests/slurm_test.sh BUILD [--cache FOLDER] [--in-memory]      BUILD: build/release
#
#   --cache      keep package archives in this folder between runs
#   --in-memory  make the root in memory, which takes 2 GiB: faster, and gone at once
#
# Needs root, debootstrap, a mirror of this machine's system, the right to mount and chroot, and the ports 16817 and 17001 to
# 17002. Exit status: 0 all went well, 1 it did not, 2 a wrong option, 77 this machine does not allow the trial.
set -euo pipefail
# shellcheck source=tests/package_trial.sh
. "$(dirname "$0")/package_trial.sh"

takes_option() { false; }
check_machine() { check_deb_possible; }
make_package() { make_deb; }

readonly results=/home/plain/empty

# Points that take about a second each, so that a node can be lost between them.
write_experiment() {
  cat >"$root$results/divided.json" <<'END'
{"name": "divided", "title": "Divided among jobs", "kind": "ttft", "models": ["models/quickstart"], "dtypes": ["f32"],
 "methods": ["recompute", "contiguous"], "settings": {"new_tokens": 4},
 "sweep": {"prompt_tokens": [16, 17, 33, 64, 65, 100, 128, 200]}, "repetitions": 40, "warmup": 1}
END
}

# Writes the script of the page that contains $1 to $2.sh, with divided.json as its experiment, $2 as its results folder, and two
# nodes instead of four.
write_script() {
  awk -v wanted="$1" '/^```/ {if (inside && index(text, wanted)) printf "%s", text; inside = !inside; text = ""; next}
                      inside {text = text $0 "\n"}' "$tree/docs/many_processes.md" |
    sed -e 's/chunk_attention\/table3/divided.json --threads 1/' -e 's/out\/table3/'"$2"'/' -e 's/--nodes=4/--nodes=2/' >"$root$results/$2.sh"
  grep -q "divided.json" "$root$results/$2.sh" || fails "docs/many_processes.md has no script with \"$1\""
}

configure_slurm() {
  local host
  host=$(hostname -s)
  cat >"$root/etc/slurm/slurm.conf" <<END
ClusterName=trial
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
AuthInfo=cred_expire=5
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/%n
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldPidFile=/run/slurmctld.pid
SlurmdLogFile=/var/log/slurmd-%n.log
SlurmctldLogFile=/var/log/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=5
ReturnToService=2
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=1
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP
END
  mkdir -p "$root/run/munge" "$root/var/spool/slurmctld" "$root/var/spool/n1" "$root/var/spool/n2"
  as_root chown munge:munge /run/munge
}

start_node() { as_root slurmd -N "$1"; }

start_slurm() {
  as_root setpriv --reuid munge --regid munge --clear-groups munged
  as_root slurmctld
  start_node n1
  start_node n2
  wait_for "both nodes are idle" sh -c "[ \$(chroot '$root' sinfo --noheader -N -t idle | wc -l) -eq 2 ]"
}

wait_for() {   # until the command $2... succeeds, for two minutes at most
  local what=$1 latest=$((SECONDS + 120))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$latest" ] || { tail -n 20 "$root"/var/log/slurm*.log >&2; fails "not within two minutes: $what"; }
    sleep 0.1
  done
}

# Ends node $1 as a loss of power does: its daemon, its jobs, and the daemons of their steps are killed.
kill_node() {
  local pid victims=() environment
  for environment in "$root"/proc/[0-9]*/environ; do
    if { tr '\0' '\n' <"$environment"; } 2>/dev/null | grep -qx "SLURMD_NODENAME=$1"; then
      pid=$(basename "$(dirname "$environment")")
      victims+=("$pid" "$(awk '/^PPid/ {print $2}' "$root/proc/$pid/status")")
    fi
  done
  kill -KILL "$(cat "$root/run/slurmd-$1.pid")" "${victims[@]}"
}

has_record() { grep -q '"point":' "$root$results/$1/records-$2.jsonl"; }

# Submits script $1, kills n2 once the process on it, which writes records-$2.jsonl, has measured a point, and lets n2 return
# when Slurm has noticed.
lose_a_node() {
  local job
  as_root su plain -c "cd $results && sbatch --wait --output=$1-%a.log $1.sh" &
  job=$!
  wait_for "n2 has measured a point" has_record "$1" "$2"
  kill_node n2
  echo "== n2 is killed; so far: $(cat "$root$results/$1"/records-*.jsonl | grep -c '"point":') points"
  wait_for "Slurm has noticed" sh -c "chroot '$root' sinfo --noheader -N -n n2 -o %t | grep -q down"
  start_node n2
  wait "$job" || fails "the job failed: $(tail -n 20 "$root$results/$1"*.log)"
}

# Fails unless folder $1 holds the points, settings and answers of folder whole, each once.
is_the_set_of_one() {
  cat >"$root$results/compare.py" <<'END'
import glob, json, sys

def points(folder):
    lines = [json.loads(line) for name in glob.glob(f"{folder}/records*.jsonl") for line in open(name)]
    records = [line for line in lines if "point" in line]
    found = {record["point"]: (record["settings"], record["answers"]) for record in records}
    return found, len(records), {record["run"] for record in records}

whole, divided = points("whole"), points(sys.argv[1])
assert len(whole[0]) == whole[1] == 16, whole[1]
assert divided[0] == whole[0], "other points or answers"
assert divided[1] == 16, f"{divided[1]} records of 16 points"
print(f"{sys.argv[1]}: the 16 points of one process, of {len(divided[2])} runs")
END
  as_user python3 compare.py "$1"
  says "16 points"
}

try_package() {
  cp "$package" "$root/tmp/package.deb"
  apt_install /tmp/package.deb slurmctld slurmd slurm-client munge
  write_experiment
  write_script srun ranks
  write_script SLURM_ARRAY_TASK_ID array
  configure_slurm
  start_slurm
  as_user reprise run divided.json --threads 1 --no-plot --out whole

  lose_a_node ranks rank1of2
  is_the_set_of_one ranks
  [ -n "$(find "$root$results/ranks" -name 'records-rank0of2.jsonl')" ] || fails "n1 has measured nothing"
  grep -q "\[16/16\]" "$root$results"/ranks-*.log || fails "the first rank has not counted all points"

  lose_a_node array 2of4
  is_the_set_of_one array
  as_user reprise plot array
  says ttft_ms
}

start_trial "$@"

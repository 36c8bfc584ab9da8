#!/bin/bash
# Slurm: sbatch examples/remote/slurm.sh
# The training saves before the time limit, or when the node is wanted by others, and the job queues again.
#SBATCH --job-name=lander-1
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log

srun gymnast train LunarLander-v3:ppo --run-id lander-1 --continue \
  --max-duration 23h45m --runs-dir "$HOME/runs" --plain
code=$?
# 0 done, 1 failed, 2 bad input, 3 saved and not finished yet
if [ "$code" -eq 3 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"

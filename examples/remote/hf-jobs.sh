#!/bin/bash
# Hugging Face Jobs: hf auth login; hf buckets create gymnast-runs; examples/remote/hf-jobs.sh
# A job lives for --timeout; the training saves before that and exits with 3, which counts as an error, so
# the next attempt continues. One that failed for good fails again at once, without training.
set -euo pipefail

command='pip install gymnast &&
gymnast train LunarLander-v3:ppo --run-id lander-1 --continue \
  --max-duration 11h30m --runs-dir /runs --plain'

hf jobs run --detach --name lander-1 --flavor cpu-upgrade --timeout 12h --attempts 10 \
  --volume "hf://buckets/${HF_USER:?set HF_USER to your name on the Hub}/gymnast-runs:/runs" \
  python:3.12 bash -c "$command"

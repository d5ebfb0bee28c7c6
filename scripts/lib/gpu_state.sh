# Whether programs built here can use this machine's GPU, and if not, why. Sourced after common.sh, not run.

# gpu_names: a line for each GPU that nvidia-smi shows.
gpu_names() { nvidia-smi -L 2>/dev/null | sed -nE 's/^GPU [0-9]+: (.*) \(UUID.*/\1/p' || true; }

# gpu_capabilities: a line such as 9.0 for each GPU; nothing if nvidia-smi is too old.
gpu_capabilities() { nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -E '^[0-9]+\.[0-9]+$' || true; }

# has_gpu: whether there is a GPU, usable or not. Without nvidia-smi, the driver's device files tell.
has_gpu() {
  if command -v nvidia-smi >/dev/null; then
    [ -n "$(gpu_names)" ]
  else
    compgen -G '/dev/nvidia[0-9]*' >/dev/null
  fi
}

# why_no_gpu: the answer of nvidia-smi if it shows no GPU.
why_no_gpu() {
  local answer
  if ! command -v nvidia-smi >/dev/null; then
    echo "nvidia-smi is not installed"
  else
    answer=$(nvidia-smi 2>&1 | grep -m 1 . || true)
    echo "nvidia-smi shows none, and says: ${answer:-nothing}"
  fi
}

# toolkit_of BUILD: the version of the toolkit that this configured folder uses, as 13.0.
toolkit_of() { sed -nE 's/^ *CUDA *: *([0-9]+\.[0-9]+).*/\1/p' "$1/configure.log" | head -n 1; }

# architectures_of BUILD: the architectures that it compiles for, as "sm_80 sm_90".
architectures_of() { sed -nE 's/^ *CUDA *: *[0-9.]+ *\((.*)\).*/\1/p' "$1/configure.log" | head -n 1; }

# gpu_problem BUILD: why no program of this configured folder can use a GPU, and the remedy; nothing if one may.
gpu_problem() {
  local build=$1 name toolkit reason
  name=$(gpu_names | head -n 1)
  toolkit=$(toolkit_of "$build")
  if ! has_gpu; then
    if [ -n "$toolkit" ]; then
      echo "CUDA toolkit $toolkit is here, but no GPU answers ($(why_no_gpu)): install NVIDIA's driver; in a container, start it with the GPU (docker run --gpus all)"
    else
      echo "no GPU answers ($(why_no_gpu)), and no CUDA toolkit (nvcc) was found: both are needed, NVIDIA's driver and CUDA toolkit 12.4 or newer"
    fi
  elif [ -z "$toolkit" ]; then
    reason=$(sed -nE 's/^.*CUDA off: (toolkit .*[^:]):?$/CUDA \1/p' "$build/configure.log" | head -n 1)
    echo "the GPU ${name:-of this machine} is here, but ${reason:-no CUDA toolkit (nvcc) was found}: install CUDA toolkit 12.4 or newer, and put its nvcc on PATH or its folder in CUDA_HOME"
  else
    reason=$(driver_problem "$toolkit")
    [ -n "$reason" ] || reason=$(architecture_problem "$name" "$toolkit" "$(architectures_of "$build")")
    [ -z "$reason" ] || echo "$reason"
  fi
}

# driver_problem TOOLKIT: a driver runs programs of its own major version of CUDA, and of older ones.
driver_problem() {
  local toolkit=$1 driver instead=
  driver=$(nvidia-smi 2>/dev/null | sed -nE 's/.*CUDA[A-Z ]* Version: *([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
  [ -n "$driver" ] && [ "${driver%%.*}" -lt "${toolkit%%.*}" ] || return 0
  [ "$(printf '12.4\n%s\n' "$driver" | sort -V | head -n 1)" != 12.4 ] || instead=", or install CUDA toolkit $driver"
  echo "NVIDIA's driver is for CUDA $driver, and CUDA toolkit $toolkit needs one for CUDA ${toolkit%%.*}.0 or newer: update the driver$instead"
}

# architecture_problem NAME TOOLKIT ARCHITECTURES: programs run on the architectures that they are compiled for and,
# through PTX, on newer ones.
architecture_problem() {
  local name=$1 toolkit=$2 architectures=$3 capability= architecture
  for capability in $(gpu_capabilities | tr -d .); do
    for architecture in $architectures; do
      architecture=${architecture#sm_}
      [ "${architecture%%[a-z]*}" -gt "$capability" ] || return 0
    done
  done
  [ -n "$capability" ] || return 0
  echo "the GPU $name is of architecture sm_$capability, and CUDA toolkit $toolkit compiles for ${architectures// / and } alone, which it cannot run: install a toolkit that knows sm_$capability (CUDA 12 knows sm_50 to sm_72, which CUDA 13 does not)"
}

# self_check_problem PROGRAM DEVICE LOG: runs the self-check with its output in LOG; prints how it failed, or nothing.
self_check_problem() {
  local program=$1 device=$2 log=$3 status=0 seconds=${LOCUS_SELF_CHECK_SECONDS:-180} started=$SECONDS last
  [ "$device" != auto ] || device=cuda
  timeout --kill-after=5 "$seconds" "$program" --device "$device" >"$log" 2>&1 </dev/null || status=$?
  # timeout exits with 137 after its own signal 9 and after any other kill, such as by the kernel when memory runs out.
  [ $status -ne 137 ] || [ $((SECONDS - started)) -lt "$seconds" ] || status=124
  last=$(grep -v '^timeout: ' "$log" | tail -n 1 | sed -E 's/ +$//')
  case $status in
    0) ;;
    1) echo "the self-check of the GPU failed in: $(sed -nE 's/ +FAILED .*//p' "$log" | paste -sd ';' | sed 's/;/; /g')" ;;
    77) echo "${last#self_check: }" ;;
    124) echo "the self-check of the GPU did not end within $seconds seconds; it was in: $last" ;;
    12[5-7]) echo "the self-check of the GPU could not be started: $last" ;;
    *)
      if [ $status -gt 128 ]; then
        echo "the self-check of the GPU was ended by signal $((status - 128)) ($(kill -l $((status - 128)))) in: $last"
      else
        echo "the self-check of the GPU ended with status $status: $last"
      fi
      ;;
  esac
}

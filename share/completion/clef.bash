# bash completion for clef, written by: clef help --completion bash
_clef() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} options= files=0
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "ask serve encode info quantize bench help version --version --help --help-environment" -- "$current"))
        return
    fi
    case $command:$previous in
    ask:--state) [[ $current == @* ]] && COMPREPLY=($(compgen -P @ -f -- "${current#@}")); return ;;
    ask:--noul) return ;;
    ask:--choice) return ;;
    ask:--score) return ;;
    ask:--image) COMPREPLY=($(compgen -f -- "$current")); return ;;
    ask:--video) COMPREPLY=($(compgen -f -- "$current")); return ;;
    ask:--cache-mib) return ;;
    ask:--output) COMPREPLY=($(compgen -W "auto table json raw" -- "$current")); return ;;
    ask:--round) COMPREPLY=($(compgen -W "4 none" -- "$current")); return ;;
    ask:--confidence) COMPREPLY=($(compgen -W "probability typesafe" -- "$current")); return ;;
    ask:--model) COMPREPLY=($(compgen -d -- "$current")); return ;;
    ask:--precision) COMPREPLY=($(compgen -W "auto f32 bf16" -- "$current")); return ;;
    ask:--threads) return ;;
    ask:--cpu-level) return ;;
    ask:--max-tokens) return ;;
    ask:--max-state-tokens) return ;;
    ask:--max-schema-tokens) return ;;
    ask:--max-questions) return ;;
    ask:--max-options) return ;;
    ask:--max-levels) return ;;
    ask:--control-tokens) COMPREPLY=($(compgen -W "plain parse" -- "$current")); return ;;
    ask:--exif) COMPREPLY=($(compgen -W "apply ignore" -- "$current")); return ;;
    ask:--remote-allow) return ;;
    ask:--remote-ports) return ;;
    ask:--remote-ca) COMPREPLY=($(compgen -f -- "$current")); return ;;
    serve:--host) return ;;
    serve:--port) return ;;
    serve:--api-key) return ;;
    serve:--api-key-file) return ;;
    serve:--model-names) return ;;
    serve:--revision) return ;;
    serve:--warmup) COMPREPLY=($(compgen -W "on off" -- "$current")); return ;;
    serve:--log) return ;;
    serve:--round) COMPREPLY=($(compgen -W "4 none" -- "$current")); return ;;
    serve:--confidence) COMPREPLY=($(compgen -W "probability typesafe" -- "$current")); return ;;
    serve:--model) COMPREPLY=($(compgen -d -- "$current")); return ;;
    serve:--precision) COMPREPLY=($(compgen -W "auto f32 bf16" -- "$current")); return ;;
    serve:--threads) return ;;
    serve:--cpu-level) return ;;
    serve:--max-tokens) return ;;
    serve:--max-state-tokens) return ;;
    serve:--max-schema-tokens) return ;;
    serve:--max-questions) return ;;
    serve:--max-options) return ;;
    serve:--max-levels) return ;;
    serve:--control-tokens) COMPREPLY=($(compgen -W "plain parse" -- "$current")); return ;;
    serve:--exif) COMPREPLY=($(compgen -W "apply ignore" -- "$current")); return ;;
    serve:--remote-allow) return ;;
    serve:--remote-ports) return ;;
    serve:--remote-ca) COMPREPLY=($(compgen -f -- "$current")); return ;;
    serve:--prefix-cache-bytes) return ;;
    serve:--prefix-cache-entries) return ;;
    serve:--prefix-cache-dir) return ;;
    serve:--feature-cache-bytes) return ;;
    serve:--max-body-bytes) return ;;
    serve:--max-connections) return ;;
    serve:--max-queue) return ;;
    serve:--queue-timeout) return ;;
    serve:--header-timeout) return ;;
    serve:--body-timeout) return ;;
    serve:--idle-timeout) return ;;
    serve:--drain-timeout) return ;;
    encode:--state) [[ $current == @* ]] && COMPREPLY=($(compgen -P @ -f -- "${current#@}")); return ;;
    encode:--noul) return ;;
    encode:--choice) return ;;
    encode:--score) return ;;
    encode:--image) COMPREPLY=($(compgen -f -- "$current")); return ;;
    encode:--video) COMPREPLY=($(compgen -f -- "$current")); return ;;
    encode:--model) COMPREPLY=($(compgen -d -- "$current")); return ;;
    encode:--precision) COMPREPLY=($(compgen -W "auto f32 bf16" -- "$current")); return ;;
    encode:--threads) return ;;
    encode:--cpu-level) return ;;
    encode:--max-tokens) return ;;
    encode:--max-state-tokens) return ;;
    encode:--max-schema-tokens) return ;;
    encode:--max-questions) return ;;
    encode:--max-options) return ;;
    encode:--max-levels) return ;;
    encode:--control-tokens) COMPREPLY=($(compgen -W "plain parse" -- "$current")); return ;;
    encode:--exif) COMPREPLY=($(compgen -W "apply ignore" -- "$current")); return ;;
    encode:--remote-allow) return ;;
    encode:--remote-ports) return ;;
    encode:--remote-ca) COMPREPLY=($(compgen -f -- "$current")); return ;;
    info:--model) COMPREPLY=($(compgen -d -- "$current")); return ;;
    info:--precision) COMPREPLY=($(compgen -W "auto f32 bf16" -- "$current")); return ;;
    info:--threads) return ;;
    info:--cpu-level) return ;;
    info:--max-tokens) return ;;
    info:--output) COMPREPLY=($(compgen -W "text json" -- "$current")); return ;;
    quantize:--output|quantize:-o) COMPREPLY=($(compgen -d -- "$current")); return ;;
    quantize:--recipe) return ;;
    quantize:--calibrate) COMPREPLY=($(compgen -f -- "$current")); return ;;
    quantize:--group) COMPREPLY=($(compgen -W "32 64" -- "$current")); return ;;
    quantize:--threads) return ;;
    bench:--shape) COMPREPLY=($(compgen -d -- "$current")); return ;;
    bench:--layers) return ;;
    bench:--tokens) return ;;
    bench:--patches) return ;;
    bench:--sequences) return ;;
    bench:--rows) return ;;
    bench:--precision) COMPREPLY=($(compgen -W "auto f32 bf16 int8 int4 mixed" -- "$current")); return ;;
    bench:--repeat) return ;;
    bench:--threads) return ;;
    bench:--cpu-level) return ;;
    bench:--server) return ;;
    bench:--model) return ;;
    bench:--api-key) return ;;
    bench:--scenarios) return ;;
    bench:--measure) COMPREPLY=($(compgen -W "all latency throughput" -- "$current")); return ;;
    bench:--clients) return ;;
    bench:--requests) return ;;
    bench:--timeout) return ;;
    bench:--output) COMPREPLY=($(compgen -W "table csv json" -- "$current")); return ;;
    help:--completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$current")); return ;;
    esac
    case $command in
    ask) options="--state --noul --choice --score --image --video --batch --cache-mib --no-cache --output --timings --round --confidence --model --precision --threads --cpu-level --max-tokens --max-state-tokens --max-schema-tokens --max-questions --max-options --max-levels --truncate --control-tokens --exif --remote-images --remote-allow --remote-ports --remote-ca --json --help " files=1 ;;
    serve) options="--host --port --api-key --api-key-file --open-metrics --model-names --strict-model --revision --warmup --fake-engine --log --log-requests --round --confidence --model --precision --threads --cpu-level --max-tokens --max-state-tokens --max-schema-tokens --max-questions --max-options --max-levels --truncate --control-tokens --exif --remote-images --remote-allow --remote-ports --remote-ca --prefix-cache-bytes --prefix-cache-entries --prefix-cache-dir --cache-per-key --feature-cache-bytes --max-body-bytes --max-connections --max-queue --queue-timeout --header-timeout --body-timeout --idle-timeout --drain-timeout --json --help " files=0 ;;
    encode) options="--state --noul --choice --score --image --video --batch --model --precision --threads --cpu-level --max-tokens --max-state-tokens --max-schema-tokens --max-questions --max-options --max-levels --truncate --control-tokens --exif --remote-images --remote-allow --remote-ports --remote-ca --json --help " files=1 ;;
    info) options="--model --precision --threads --cpu-level --max-tokens --output --json --help " files=0 ;;
    quantize) options="--output -o --recipe --calibrate --group --force --threads --json --help " files=1 ;;
    bench) options="--shape --layers --tokens --patches --sequences --rows --precision --repeat --machine --threads --cpu-level --server --model --api-key --scenarios --measure --clients --requests --timeout --output --json --help " files=0 ;;
    help) options="--completion --man --json --help " files=0 ;;
    version) options="--json --help " files=0 ;;
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _clef clef

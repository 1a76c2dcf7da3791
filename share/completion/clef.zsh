#compdef clef
# zsh completion for clef, written by: clef help --completion zsh
_clef() {
    local -a commands=(
        'ask:Answer the questions of a request'
        'serve:Answer requests over HTTP'
        'encode:Show the tokens of a request without computing an answer'
        'info:Show facts about the model, its memory and this machine'
        'quantize:Make a smaller model\: weights of 8 or 4 bits'
        'bench:Measure the speed of a model'\''s shape beside the peaks of this machine, or of a server'
        'help:Explain a command; print shell completions and the manual page'
        'version:Print the version'
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT -= 1 ))
    case $command in
    ask)
        _arguments \
            '--state[What the questions are about\: the text itself, @ and the name of a file that holds it, or - for standard input]:TEXT|@FILE|-: ' \
            '*--noul[A question that is answered by yes or no]:\[ID=\]QUESTION: ' \
            '*--choice[A question that is answered by one of the options]:\[ID=\]\[QUESTION;\]OPTION,...: ' \
            '*--score[A question that is answered by a place on a scale, levels from the lowest to the highest]:\[ID=\]\[QUESTION;\]LEVEL,...: ' \
            '--image[A picture that belongs to the state\: PNG, JPEG or WebP]:FILE:_files' \
            '--video[A video that belongs to the state\: a file, where clef was built with FFmpeg, or a folder of pictures of one size, its frames in the order of their names, 24 a second]:FILE|DIR:_files' \
            '--batch[Read one JSON request a line and write one line for each, in order; blank lines are skipped]' \
            '--cache-mib[Memory in MiB for the states of lines already answered, so that lines that begin with the same state take less time; an eighth of the free memory by default]:N: ' \
            '--no-cache[Keep no states and no pictures\: compute every line from its beginning]' \
            '--output[auto, the default, is a table on a terminal and JSON elsewhere]:value:(auto table json raw)' \
            '--timings[Say how long the answer took\: latency_ms in JSON, a line on standard error beside a table]' \
            '--round[Decimal places of the probabilities in JSON; 4 by default]:value:(4 none)' \
            '--confidence[What confidence means\: the largest probability, the default, or how far it stands above chance]:value:(probability typesafe)' \
            '--model[Directory of the model]:DIR:_files -/' \
            '--precision[How products of unquantised matrices are computed\: f32 exactly, bf16 with rounded inputs]:value:(auto f32 bf16)' \
            '--threads[Threads to compute with]:N: ' \
            '--cpu-level[Highest level of CPU instructions to use; "clef info" lists them]:NAME: ' \
            '--max-tokens[Tokens of a whole request; 16384 by default, at most the context length of the model]:N: ' \
            '--max-state-tokens[Tokens of the state and the fixed text before it; as many as --max-tokens by default]:N: ' \
            '--max-schema-tokens[Tokens of the questions and the fixed text behind them; as many as --max-tokens by default]:N: ' \
            '--max-questions[Questions of a request; 64 by default]:N: ' \
            '--max-options[Options of one choice; 255 by default]:N: ' \
            '--max-levels[Levels of one score; 255 by default]:N: ' \
            '--truncate[Read only the beginning of a state that is too long, instead of refusing it]' \
            '--control-tokens[What control tokens written in a request are\: plain text, the default, or control tokens, as in the reference implementation]:value:(plain parse)' \
            '--exif[Whether pictures are turned upright, as the camera noted in them\: apply, the default, or ignore, as in the reference implementation]:value:(apply ignore)' \
            '--remote-images[Fetch pictures whose http\:// or https\:// addresses stand in a request, from the public internet alone; without it they are refused]' \
            '--remote-allow[With --remote-images\: a name or address, as it stands in requests, that may lie in a private network or on this machine]:HOST: ' \
            '--remote-ports[With --remote-images\: ports that may be connected to; 80,443 by default]:PORT,...: ' \
            '--remote-ca[With --remote-images\: PEM file with the certificates of the authorities that https hosts are trusted by, in place of the system'\''s]:FILE:_files' \
            '--json[Write an error as one line of JSON with type, loc and msg]' \
            '--help[Show this help]' \
            '*:file:_files' ;;
    serve)
        _arguments \
            '--host[Name or address to listen on; 127.0.0.1 by default, which only this machine can reach]:HOST: ' \
            '--port[Port to listen on; 8008 by default, 0 takes a free one and says which]:N: ' \
            '--api-key[A key that clients must send as "Authorization\: Bearer KEY"; may be repeated]:KEY: ' \
            '--api-key-file[A file with one key a line]:FILE: ' \
            '--open-metrics[Answer GET /metrics without a key]' \
            '--model-names[Names that the list of models shows; "clef" by default]:NAME,...: ' \
            '--strict-model[Refuse requests that name another model, instead of answering them with this one]' \
            '--revision[Serve the model only if the manifest in its directory names this commit; without a manifest there is a warning]:COMMIT: ' \
            '--warmup[Whether a request of its own is answered before the server says that it is ready; on by default]:value:(on off)' \
            '--fake-engine[Answer with numbers made from the tokens instead of a model'\''s\: for tests of clients]' \
            '--log[Write a line of JSON for each request to FILE, or to standard error for -]:FILE: ' \
            '--log-requests[Write the bodies of requests to the log too]' \
            '--round[Decimal places of the probabilities in JSON; 4 by default]:value:(4 none)' \
            '--confidence[What confidence means\: the largest probability, the default, or how far it stands above chance]:value:(probability typesafe)' \
            '--model[Directory of the model]:DIR:_files -/' \
            '--precision[How products of unquantised matrices are computed\: f32 exactly, bf16 with rounded inputs]:value:(auto f32 bf16)' \
            '--threads[Threads to compute with]:N: ' \
            '--cpu-level[Highest level of CPU instructions to use; "clef info" lists them]:NAME: ' \
            '--max-tokens[Tokens of a whole request; 16384 by default, at most the context length of the model]:N: ' \
            '--max-state-tokens[Tokens of the state and the fixed text before it; as many as --max-tokens by default]:N: ' \
            '--max-schema-tokens[Tokens of the questions and the fixed text behind them; as many as --max-tokens by default]:N: ' \
            '--max-questions[Questions of a request; 64 by default]:N: ' \
            '--max-options[Options of one choice; 255 by default]:N: ' \
            '--max-levels[Levels of one score; 255 by default]:N: ' \
            '--truncate[Read only the beginning of a state that is too long, instead of refusing it]' \
            '--control-tokens[What control tokens written in a request are\: plain text, the default, or control tokens, as in the reference implementation]:value:(plain parse)' \
            '--exif[Whether pictures are turned upright, as the camera noted in them\: apply, the default, or ignore, as in the reference implementation]:value:(apply ignore)' \
            '--remote-images[Fetch pictures whose http\:// or https\:// addresses stand in a request, from the public internet alone; without it they are refused]' \
            '--remote-allow[With --remote-images\: a name or address, as it stands in requests, that may lie in a private network or on this machine]:HOST: ' \
            '--remote-ports[With --remote-images\: ports that may be connected to; 80,443 by default]:PORT,...: ' \
            '--remote-ca[With --remote-images\: PEM file with the certificates of the authorities that https hosts are trusted by, in place of the system'\''s]:FILE:_files' \
            '--prefix-cache-bytes[Memory for states of requests that may come again or go on; 0\: none are kept; a quarter of the free memory by default]:N: ' \
            '--prefix-cache-entries[How many of them at most; 0\: none are kept; as many as fit by default]:N: ' \
            '--prefix-cache-dir[Existing directory that keeps states over restarts too; one server at a time]:DIR: ' \
            '--cache-per-key[Requests with different API keys share neither kept states nor computations, so that nobody learns from a fast answer what others asked]' \
            '--feature-cache-bytes[Memory for pictures and videos as the vision tower sees them, so that the same ones under another text take less time; 0\: none are kept; a sixteenth of the free memory by default]:N: ' \
            '--max-body-bytes[Bytes of a request body; 67108864 by default]:N: ' \
            '--max-connections[Connections at once, more have to wait; 512 by default]:N: ' \
            '--max-queue[Requests that wait or run, more are refused with status 503; 256 by default]:N: ' \
            '--queue-timeout[How long a request may wait for its turn; 300 by default]:SECONDS: ' \
            '--header-timeout[How long a client may take to send the head of a request; 10 by default]:SECONDS: ' \
            '--body-timeout[How long a client may take for some progress with a body or with reading a reply; 30 by default]:SECONDS: ' \
            '--idle-timeout[How long a connection may stay open between requests; 75 by default]:SECONDS: ' \
            '--drain-timeout[How long requests may go on when the server is told to stop; 20 by default]:SECONDS: ' \
            '--json[Write an error as one line of JSON with type, loc and msg]' \
            '--help[Show this help]' \
            '*: : ' ;;
    encode)
        _arguments \
            '--state[What the questions are about\: the text itself, @ and the name of a file that holds it, or - for standard input]:TEXT|@FILE|-: ' \
            '*--noul[A question that is answered by yes or no]:\[ID=\]QUESTION: ' \
            '*--choice[A question that is answered by one of the options]:\[ID=\]\[QUESTION;\]OPTION,...: ' \
            '*--score[A question that is answered by a place on a scale, levels from the lowest to the highest]:\[ID=\]\[QUESTION;\]LEVEL,...: ' \
            '--image[A picture that belongs to the state\: PNG, JPEG or WebP]:FILE:_files' \
            '--video[A video that belongs to the state\: a file, where clef was built with FFmpeg, or a folder of pictures of one size, its frames in the order of their names, 24 a second]:FILE|DIR:_files' \
            '--batch[Read one JSON request a line and write one line for each, in order; blank lines are skipped]' \
            '--model[Directory of the model]:DIR:_files -/' \
            '--precision[How products of unquantised matrices are computed\: f32 exactly, bf16 with rounded inputs]:value:(auto f32 bf16)' \
            '--threads[Threads to compute with]:N: ' \
            '--cpu-level[Highest level of CPU instructions to use; "clef info" lists them]:NAME: ' \
            '--max-tokens[Tokens of a whole request; 16384 by default, at most the context length of the model]:N: ' \
            '--max-state-tokens[Tokens of the state and the fixed text before it; as many as --max-tokens by default]:N: ' \
            '--max-schema-tokens[Tokens of the questions and the fixed text behind them; as many as --max-tokens by default]:N: ' \
            '--max-questions[Questions of a request; 64 by default]:N: ' \
            '--max-options[Options of one choice; 255 by default]:N: ' \
            '--max-levels[Levels of one score; 255 by default]:N: ' \
            '--truncate[Read only the beginning of a state that is too long, instead of refusing it]' \
            '--control-tokens[What control tokens written in a request are\: plain text, the default, or control tokens, as in the reference implementation]:value:(plain parse)' \
            '--exif[Whether pictures are turned upright, as the camera noted in them\: apply, the default, or ignore, as in the reference implementation]:value:(apply ignore)' \
            '--remote-images[Fetch pictures whose http\:// or https\:// addresses stand in a request, from the public internet alone; without it they are refused]' \
            '--remote-allow[With --remote-images\: a name or address, as it stands in requests, that may lie in a private network or on this machine]:HOST: ' \
            '--remote-ports[With --remote-images\: ports that may be connected to; 80,443 by default]:PORT,...: ' \
            '--remote-ca[With --remote-images\: PEM file with the certificates of the authorities that https hosts are trusted by, in place of the system'\''s]:FILE:_files' \
            '--json[Write an error as one line of JSON with type, loc and msg]' \
            '--help[Show this help]' \
            '*:file:_files' ;;
    info)
        _arguments \
            '--model[Directory of the model]:DIR:_files -/' \
            '--precision[How products of unquantised matrices are computed\: f32 exactly, bf16 with rounded inputs]:value:(auto f32 bf16)' \
            '--threads[Threads to compute with]:N: ' \
            '--cpu-level[Highest level of CPU instructions to use; "clef info" lists them]:NAME: ' \
            '--max-tokens[Tokens of a whole request; 16384 by default, at most the context length of the model]:N: ' \
            '--output[text, the default, is for people]:value:(text json)' \
            '--json[Write an error as one line of JSON with type, loc and msg]' \
            '--help[Show this help]' \
            '*: : ' ;;
    quantize)
        _arguments \
            '(-o --output)'{-o,--output}'[Directory to write to]:DIR:_files -/' \
            '--recipe[Which matrices get how many bits; int8 by default]:int8|int4|mixed|FILE: ' \
            '--calibrate[Round the weights by what they do to these requests\: one JSON request a line, as "clef ask --batch" reads them; - is standard input]:FILE:_files' \
            '--group[Columns that share a scale]:value:(32 64)' \
            '--force[Write into a directory that is not empty]' \
            '--threads[Threads to compute with]:N: ' \
            '--json[Write an error as one line of JSON with type, loc and msg]' \
            '--help[Show this help]' \
            '*:file:_files' ;;
    bench)
        _arguments \
            '--shape[What is measured\: qwen3.5-0.8b, clef-flash or clef, with weights by formula that need no files, or the directory of a model]:NAME|DIR:_files -/' \
            '--layers[Only the first N layers; the time of a whole model grows with their number]:N: ' \
            '--tokens[Tokens of each sequence, one case for each number; 512 by default]:N,...: ' \
            '--patches[In place of tokens\: patches of one picture, one case for each number, through the vision tower alone; --layers counts its blocks]:N,...: ' \
            '--sequences[Sequences that share the steps; 1 by default]:N: ' \
            '--rows[Tokens of one step, of all sequences together, rounded up to a multiple of 64; 512 by default]:N: ' \
            '--precision[How numbers are computed]:value:(auto f32 bf16 int8 int4 mixed)' \
            '--repeat[Runs of each case behind one that warms up; the one with the median time is reported]:N: ' \
            '--machine[Measure the peaks of this machine alone]' \
            '--threads[Threads to compute with]:N: ' \
            '--cpu-level[Highest level of CPU instructions to use; "clef info" lists them]:NAME: ' \
            '--server[Measure this server\: http\://HOST\[\:PORT\]\[/PATH\], with or without /v1 at its end]:URL: ' \
            '--model[The model that requests name; jev-latest by default]:NAME: ' \
            '--api-key[Sent as "Authorization\: Bearer KEY"]:KEY: ' \
            '--scenarios[Which requests are sent\: triage, short-2, short-6, medium-5, long-5; all by default]:NAME,...: ' \
            '--measure[all, the default, is latency of all scenarios, then throughput]:value:(all latency throughput)' \
            '--clients[Clients at once, one throughput for each number; 1,8,32,64 by default]:N,...: ' \
            '--requests[Requests of each pass of a throughput; 256 of short-6 and 64 of long-5 by default]:N: ' \
            '--timeout[How long one request may take; 600 by default]:SECONDS: ' \
            '--output[table, the default, is for people]:value:(table csv json)' \
            '--json[Write an error as one line of JSON with type, loc and msg]' \
            '--help[Show this help]' \
            '*: : ' ;;
    help)
        _arguments \
            '--completion[Print the completion script of that shell]:value:(bash zsh fish)' \
            '--man[Print the manual page]' \
            '--json[Write an error as one line of JSON with type, loc and msg]' \
            '--help[Show this help]' \
            '*: : ' ;;
    version)
        _arguments \
            '--json[Write an error as one line of JSON with type, loc and msg]' \
            '--help[Show this help]' \
            '*: : ' ;;
    esac
}
_clef "$@"

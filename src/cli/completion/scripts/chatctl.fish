# Completion of chatctl for fish 3 and later.
function __chatctl_complete
    set -l before (commandline -opc)
    while string match -qr '^\w+=' -- $before[1]
        set -e before[1]
    end
    set -e before[1]
    set -l word (commandline -ct)
    set -l bare (string replace -r '^["\']' '' -- "$word")
    test "$bare" = "$word"; and set bare (string unescape -- "$word")
    set -l lines (chatctl complete --shell=fish -- $before "$bare" 2>/dev/null)
    switch "$lines[1]"
        case files
            __chatctl_paths __fish_complete_path "$bare"
        case directories
            __chatctl_paths __fish_complete_directories "$bare"
        case '*'
            printf '%s\n' $lines[2..-1]
    end
end

# Of --file=part, fish is to be given the whole word.
function __chatctl_paths -a list word
    set -l parts (string match -r '^(--[^=]+=)(.*)$' -- $word)
    or set parts '' '' $word
    for path in ($list "$parts[3]")
        echo -- $parts[2]$path
    end
end

complete -c chatctl -f -a '(__chatctl_complete)'

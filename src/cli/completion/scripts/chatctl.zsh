#compdef chatctl
# Completion of chatctl for zsh: to be sourced, or a file _chatctl in a directory of $fpath.
_chatctl() {
  local line
  local -a lines whole open
  lines=("${(@f)$(chatctl complete --shell=zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  for line in "${(@)lines[2,-1]}"; do
    case $line in
      +*) open+=("${line#+}") ;;
      *) whole+=("${line# }") ;;
    esac
  done
  case $lines[1] in
    files) compset -P '--[^=]#='; _files ;;
    directories) compset -P '--[^=]#='; _files -/ ;;
    found) compstate[insert]=menu; _describe chatctl whole -U ;;
    *) _describe chatctl whole -- open -S '' ;;
  esac
}
if [[ $funcstack[1] == _chatctl ]]; then
  _chatctl "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _chatctl chatctl
fi

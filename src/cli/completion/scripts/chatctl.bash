# Completion of chatctl for bash 3.2 and later.
_chatctl() {
  local first line
  COMPREPLY=()
  {
    IFS= read -r first
    while IFS= read -r line; do COMPREPLY+=("$line"); done
  } < <(chatctl complete --shell=bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
  case $first in
    *open) compopt -o nospace 2>/dev/null ;;
    files) compopt -o default 2>/dev/null ;;
    directories) compopt -o dirnames 2>/dev/null ;;
  esac
  return 0
}
# A bash without compopt, such as that of macOS, cannot be told when a file is wanted.
if type compopt >/dev/null 2>&1; then
  complete -F _chatctl chatctl
else
  complete -o default -F _chatctl chatctl
fi

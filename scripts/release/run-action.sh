#!/bin/sh
# Runs the GitHub Action of action.yml. Its inputs are in the environment, and never part of a command.
set -eu

fail() {
  printf 'Error: %s\n' "$1" >&2
  exit 2
}

for value in "$ACTION_APPLY" "$ACTION_STRICT"; do
  case $value in
    true | false) ;;
    *) fail "The inputs apply and strict are true or false, not \"$value\"." ;;
  esac
done

root=$(cd "$(dirname "$0")/../.." && pwd)
version=${ACTION_VERSION:-$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$root/package.json")}
version=${version#v}
dir=$RUNNER_TEMP/chatctl-$version
# A local action has no repository other than that of the workflow.
CHATCTL_DOWNLOADS=$GITHUB_SERVER_URL/${ACTION_REPOSITORY:-$GITHUB_REPOSITORY}/releases/download
PATH=$dir:$PATH
export CHATCTL_DOWNLOADS PATH
installer=$RUNNER_TEMP/install-chatctl.sh
sed -e "/^@SIGNERS@\$/{r $root/scripts/release/allowed_signers" -e d -e '}' \
  "$root/scripts/release/install.sh" >"$installer"
sh "$installer" --version "$version" --dir "$dir"
printf '%s\n' "$dir" >>"$GITHUB_PATH"
printf 'version=%s\n' "$version" >>"$GITHUB_OUTPUT"

set --
while read -r file; do
  [ -z "$file" ] || set -- "$@" "--file=$file"
done <<END
$ACTION_FILES
END
[ $# -gt 0 ] || exit 0

if [ -n "$ACTION_BASE_URL" ]; then
  CHATCTL_BASE_URL=$ACTION_BASE_URL
  export CHATCTL_BASE_URL
fi
# Without one, chatctl would compare the files with its embedded service.
[ -n "${CHATCTL_BASE_URL:-}" ] || fail "Set the input base-url, or the environment variable CHATCTL_BASE_URL."

plan=$dir/settings.plan
trap 'rm -f "$plan"' EXIT
code=0
# Without --save, chatctl names no plan, because this script would remove it.
if [ "$ACTION_APPLY" = true ]; then set -- "$@" --save "$plan"; fi
chatctl settings diff "$@" --exit-code -o markdown >>"$GITHUB_STEP_SUMMARY" || code=$?
case $code in
  0) changed=false ;;
  10) changed=true ;;
  *) exit "$code" ;;
esac
printf 'changed=%s\n' "$changed" >>"$GITHUB_OUTPUT"

if [ "$changed" = false ]; then exit; fi
if [ "$ACTION_APPLY" = true ]; then
  # The plan, and not the files: only what the summary shows is applied.
  chatctl settings apply "$plan" --yes
elif [ "$ACTION_STRICT" = true ]; then
  printf 'Error: The service differs from the files. The job summary shows the changes.\n' >&2
  exit 10
fi

#!/bin/sh
# Runs the GitHub Action of action.yml. Its inputs are in the environment, and never part of a command.
set -eu

fail() {
  printf 'Error: %s\n' "$1" >&2
  exit 2
}

for value in "$ACTION_APPLY" "$ACTION_STRICT" "$ACTION_COMMENT"; do
  case $value in
    true | false) ;;
    *) fail "The inputs apply, strict, and comment are true or false, not \"$value\"." ;;
  esac
done
# Text of a file or of the service must not become a command of the log.
stop=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
printf '::stop-commands::%s\n' "$stop" && trap 'printf "::%s::\n" "$stop"' EXIT
# Programs that chatctl runs do not see the token.
token=$ACTION_TOKEN
unset ACTION_TOKEN

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

case $ACTION_FILES$ACTION_USERS_FILES in
  *[![:space:]]*) ;;
  *) exit 0 ;;
esac
if [ -n "$ACTION_BASE_URL" ]; then export CHATCTL_BASE_URL="$ACTION_BASE_URL"; fi
# Without one, chatctl would compare the files with its embedded service.
[ -n "${CHATCTL_BASE_URL:-}" ] || fail "Set the input base-url, or the environment variable CHATCTL_BASE_URL."

work=$(mktemp -d "$RUNNER_TEMP/chatctl.XXXXXX")
trap 'rm -rf "$work"; printf "::%s::\n" "$stop"' EXIT
code=0 changed=false differing=

# Applies the plan of $1, with other flags, and nothing but what the summary shows.
apply() {
  [ "$1" = users ] && results=$ACTION_USERS_RESULTS || results=
  chatctl "$1" apply "$work/$1.plan" --yes ${results:+"--results=$results"} ${2+--dry-run --quiet}
}

# Whether the plan of $1 can be applied as a whole, now or after the merge of a pull request.
check() {
  apply "$1" dry >/dev/null || return
  [ "$1" = users ] || return 0
  counts='.counts | .missing + .unknown'
  [ -n "$ACTION_USERS_RESULTS" ] || counts="$counts + .create"
  [ "$(chatctl users diff "$work/users.plan" --quiet --jq "$counts")" = 0 ] ||
    (fail 'New users need passwords (the input users-results), and missing or unknown users a decision.')
}

# Compares the files $2, one per line, with the service. $1 is settings or users.
compare() {
  kind=$1
  files=$(printf '%s\n' "$2" | tr -d '\r')
  set --
  while read -r file; do
    [ -z "$file" ] || set -- "$@" "--file=$file"
  done <<END
$files
END
  [ $# -gt 0 ] || return 0
  if [ "$kind" = users ] && [ -n "$ACTION_USERS_STATE" ]; then set -- "$@" "--state=$ACTION_USERS_STATE"; fi
  [ "$ACTION_APPLY$ACTION_PULL_REQUEST" = false ] || set -- "$@" --save "$work/$kind.plan" ${CHATCTL_SEAL_KEY+--seal}
  status=0 step=comparison
  chatctl "$kind" diff "$@" --exit-code -o markdown >>"$work/summary" 2>"$work/log" || status=$?
  # This script removes the plan.
  grep -v '^The plan is in ' "$work/log" >&2 || :
  if [ "$status" = 10 ]; then
    status=0 step=check changed=true differing="$kind $differing"
    [ ! -e "$work/$kind.plan" ] || check "$kind" || status=$?
  fi
  if [ "$status" != 0 ]; then
    printf '\nThe %s of %s failed with exit code %s. The log has the reason.\n' "$step" "$kind" "$status" >>"$work/summary"
    [ "$code" != 0 ] || code=$status
  fi
  printf '\n' >>"$work/summary"
}

# Prints files up to a size in bytes, and then a note. Only whole lines, because a row of a table is one.
shorten() {
  LC_ALL=C awk '(left -= length($0) + 1) < 0 { print "\n" note; exit } { print }' "$@"
}

# Sends a request to GitHub at the base URL $1, without the environment and the files of chatctl in this job.
github() (
  base=$1
  shift
  for name in $(env | sed -nE 's/^((CHATCTL|XDG)_[A-Z_]+)=.*/\1/p'); do unset "$name"; done
  HOME=$work CHATCTL_BASE_URL=$base CHATCTL_API_KEY=$token chatctl api "$@"
)

# Creates the comment on the pull request, or replaces the one of an earlier run.
write_comment() {
  marker="<!-- chatctl $(printf '%s\n' "$CHATCTL_BASE_URL" "$ACTION_FILES" "$ACTION_USERS_FILES" | cksum) -->"
  user=$(github "${GITHUB_GRAPHQL_URL%/graphql}" POST /graphql --field 'query={ viewer { login } }' \
    --jq '.data.viewer.login // error("GitHub does not name the user of the token")') || return
  own="select(.user.login == \"$user\" and (.body // \"\" | index(\"$marker\") == 0))"
  page=0 id=more
  while [ "$id" = more ]; do
    page=$((page + 1))
    id=$(github "$GITHUB_API_URL" "$1/issues/$ACTION_PULL_REQUEST/comments?per_page=100&page=$page" \
      --jq "map($own.id)[0] // if length == 0 then \"none\" else \"more\" end") || return
  done
  case $id-$code-$changed in
    none-0-false) return ;;
    *-0-false) title='No changes.' ;;
    *-0-true) title='The service differs from the files:' ;;
    *) title='The comparison or a check failed.' ;;
  esac
  # Less than the maximum of GitHub and of an argument.
  body=$(printf '%s\n%s\n\n' "$marker" "$title" |
    shorten left=60000 note='This comment is shortened. The job summary shows more.' - "$work/summary")
  path=$ACTION_PULL_REQUEST/comments method=POST
  [ "$id" = none ] || path=comments/$id method=PATCH
  github "$GITHUB_API_URL" "$method" "$1/issues/$path" --field "body=$body" >/dev/null
}

compare settings "$ACTION_FILES"
compare users "$ACTION_USERS_FILES"
# GitHub shows none of more than 1 MiB.
shorten left=1000000 note='This job summary is shortened.' "$work/summary" >>"$GITHUB_STEP_SUMMARY"
if [ "$ACTION_COMMENT" = true ] && [ -n "$ACTION_PULL_REQUEST" ]; then
  write_comment "/repos/$GITHUB_REPOSITORY" ||
    printf '::%s::\n::warning title=chatctl::%s %s\n::stop-commands::%s\n' "$stop" 'The comment on the pull request was not written. The log has the reason.' \
      'The job needs the permission "pull-requests: write", which a pull request from a fork does not have.' "$stop"
fi
[ "$code" = 0 ] || exit "$code"
printf 'changed=%s\n' "$changed" >>"$GITHUB_OUTPUT"

if [ "$ACTION_APPLY" = true ]; then
  # Users first: their outcomes differ, and settings are changed as a whole.
  for kind in $differing; do apply "$kind"; done
elif [ "$changed-$ACTION_STRICT" = true-true ]; then
  printf 'Error: The service differs from the files. The job summary shows the changes.\n' >&2
  exit 10
fi

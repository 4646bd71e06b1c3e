#!/usr/bin/env bash
# The tour, from an empty folder to a commit: a card asks for release notes, a bot drafts them, a person says yes.
#
#   demo/run.sh [REPOSITORY]     the notes of REPOSITORY (a clone of it: yours stays as it is), or of a made-up one
#
# Wants `pointsman` and git on the PATH; `./run demo` sees to both. HEADING names the release. Everything happens in one
# temporary folder, which is named at the end and kept.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
repository=${1:-}
[ -z "$repository" ] || repository=$(cd "$repository" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/pointsman-demo.XXXXXX")
unset POINTSMAN_STORE_DIR POINTSMAN_STORE_URL
export GIT_AUTHOR_NAME="Ada" GIT_AUTHOR_EMAIL="ada@example.org" GIT_COMMITTER_NAME="Ada" GIT_COMMITTER_EMAIL="ada@example.org"

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
show() { printf '$'; printf ' %q' "$@"; printf '\n'; "$@"; }
field() { python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[key]
print(value)' "$1"; }

change() { # change FILE "subject" ["body"]
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "$2" >> "$1"
  git add -A
  git commit --quiet --message "$2" ${3:+--message "$3"}
}

say "A git repository with a history"
if [ -n "$repository" ]; then
  git clone --quiet "$repository" "$work/shop"
else
  git init --quiet "$work/shop"
  cd "$work/shop"
  change README.md "chore: a shop"
  git tag v1.0
  change src/cart.txt "feat(cart): items can be saved for later"
  change src/cart.txt "fix(cart): the total is rounded once, at the end"
  change src/search.txt "perf(search): results come from an index"
  change src/api.txt "feat(api)!: prices are whole cents" "BREAKING CHANGE: clients divide by one hundred."
  change docs/api.txt "docs(api): what a price is"
  change tests/cart.txt "test(cart): saved items survive a login"
fi
git -C "$work/shop" --no-pager log --oneline --max-count=8

say "A project: one configuration, one bot"
mkdir "$work/project"
cd "$work/project"
show pointsman init .
cp "$here/bots/release-notes.bot" bots/
cat > pointsman.yaml <<YAML
name: demo
boards:
  - name: native
    kind: native
    bot: release-notes
    vars: {repo: "$work/shop"}
tick: {interval: 200ms}
YAML
show pointsman config check
show pointsman validate bots/release-notes.bot

say "A card in ready"
show pointsman card create --title "Draft the release notes" --column ready --bot-arg heading="${HEADING:-Release 1.1}"
card=1

say "The dispatcher picks it up; the bot drafts and asks"
show pointsman dispatch --until-idle --idle-timeout 2m --no-server --log-level warning
show pointsman card list
column=$(pointsman card show "$card" --json | field column)
if [ "$column" = review ]; then
  say "There is nothing new since the last tag, so there was nothing to ask. Everything is in $work"
  exit 0
fi
[ "$column" = awaiting_input ] || { echo "the card is in $column, not in awaiting_input"; exit 1; }
run=$(pointsman card show "$card" --json | field last_run)
printf '\nThe question of run %s:\n\n' "$run"
pointsman inspect --run-id "$run" --json | field pending.questions.draft

say "A person answers"
show pointsman resume --run-id "$run" --no-interactive --answer approved=yes \
  --answer "note=Prices are whole cents from here on; everything else is better than it was."

say "The next tick carries the outcome onto the card"
show pointsman dispatch --until-idle --idle-timeout 2m --no-server --log-level warning
show pointsman card list
column=$(pointsman card show "$card" --json | field column)
[ "$column" = review ] || { echo "the card is in $column, not in review"; exit 1; }

say "The commit"
git -C "$work/shop" --no-pager log --max-count=1 --stat
cat "$work/shop/RELEASE_NOTES.md"

say "Done. Everything is in $work"

#!/usr/bin/env bash
# The tour over a forge: labels move a card, a bot comments on it, and the answer to the comment is cut in the middle.
#
#   demo/forge.sh     against a fake GitHub on this machine; nothing leaves it
#
# Wants `pointsman` on the PATH; `./run demo forge` sees to it. Everything happens in one temporary folder, which is named
# at the end and kept.
set -euo pipefail

work=$(mktemp -d "${TMPDIR:-/tmp}/pointsman-demo.XXXXXX")
unset POINTSMAN_STORE_DIR POINTSMAN_STORE_URL
cd "$work"

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
show() { printf '$'; printf ' %q' "$@"; printf '\n'; "$@"; }
field() { python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[key]
print(value)' "$1"; }
control() { python3 - "$control" "$@" <<'PY'
import json, sys, urllib.request
base, path, body = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
data = body.encode() if body else None
asked = urllib.request.Request(base + path, data, {"Content-Type": "application/json"})
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
sys.stdout.write(opener.open(asked, timeout=20).read().decode())
PY
}
seen() { # what a person sees of the issue: its labels and its comments
  control state | python3 -c 'import json, sys
world = json.load(sys.stdin)
repo = next(iter(world["repos"].values()))
issue = repo["issues"]["1"]
title, names = issue["title"], [repo["labels"][str(label)]["name"] for label in issue["labels"]]
print("  #1", title, " [" + issue["state"] + "]  labels:", ", ".join(names))
for comment in issue["comments"]:
    author, said = comment["author"], comment["body"].split("<!--")[0].strip()
    print("     " + author + ":", said)'
}

say "A GitHub of our own, which loses the answer to the first comment"
cat > faults.json <<'JSON'
[{"match": {"operation": "issue.comment", "nth": 1}, "fault": "act_then_close"}]
JSON
pointsman fake-forge --forge github --script faults.json > forge.json &
forge=$!
trap 'kill "$forge" 2> /dev/null || true' EXIT
for _ in $(seq 300); do [ -s forge.json ] && break; kill -0 "$forge"; sleep 0.1; done
url=$(field url < forge.json); control=$(field control < forge.json); repo=$(field repo < forge.json)
FAKE_TOKEN=$(field token < forge.json); export FAKE_TOKEN
echo "$repo at $url"

say "A project: columns are labels, one bot comments on the card"
mkdir bots
cat > bots/greet.bot <<'BOT'
dsl: 2

vars:
  number: int
  title: string

tool say:
  action: github.issue.comment
  connection: web
  params:
    number: "{{vars.number}}"
    body: "I looked at {{vars.title}} and have nothing to add."

workflow greet:
  entry: say
  say -> done
BOT
cat > pointsman.yaml <<YAML
name: demo
boards:
  - name: web
    kind: github
    url: "$url"
    repo: $repo
    token: \$FAKE_TOKEN
    allow_private: true
    bot: greet
    vars: {number: "{{card.number}}", title: "{{card.title}}"}
    columns: {inbox: {label: inbox}, backlog: {label: backlog}, waiting_deps: {label: waiting_deps}, ready: {label: ready}, in_progress: {label: in_progress},
              awaiting_input: {label: awaiting_input}, review: {label: review}, blocked: {label: blocked},
              done: {closed: true}}
tick: {interval: 200ms}
YAML
show pointsman validate bots/greet.bot
show pointsman doctor

say "A person writes an issue and labels it ready"
control act '{"do": "create_issue", "title": "Paint the fence", "labels": ["ready"]}' > made.json
seen

say "The dispatcher picks it up; the answer to its comment is cut, and it looks instead of sending it again"
show pointsman dispatch --until-idle --idle-timeout 2m --no-server --log-level warning

say "What a person sees"
seen
show pointsman effects list
control state > state.json
python3 - <<'PY'
import json
repo = next(iter(json.load(open("state.json"))["repos"].values()))
issue = repo["issues"]["1"]
labels = [repo["labels"][str(label)]["name"] for label in issue["labels"]]
assert labels == ["review"], f"the card is in {labels}, not in review"
assert len(issue["comments"]) == 1, f"there are {len(issue['comments'])} comments, not one"
PY

say "Done: one comment, although its answer was lost. Everything is in $work"

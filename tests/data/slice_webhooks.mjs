// Cuts `github-webhooks.json.gz` from the npm package @octokit/webhooks-examples: up to two deliveries of each event.
// Called by hand: node slice_webhooks.mjs FOLDER_OF_THE_PACKAGE
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const all = JSON.parse(readFileSync(`${process.argv[2]}/api.github.com/index.json`, "utf8"));
const kept = all.map((each) => ({ name: each.name, examples: each.examples.slice(0, 2) }));
writeFileSync(new URL("github-webhooks.json.gz", import.meta.url), gzipSync(JSON.stringify(kept), { level: 9 }));

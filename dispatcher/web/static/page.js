// Sends answers, moves and switches as JSON, and keeps the page fresh. Nothing here decides anything; without it the
// page can still be read, and the command line does the rest.
"use strict";

const EVERY = 10000;
const SIGNED_OUT = "Your sign-in has ended. Open this page in another tab, sign in there, then go on here.";
let tag = "";
let seen = new Date();

function say(text) {
  document.getElementById("said").textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { document.getElementById("said").textContent = ""; }, 8000);
}

async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
    credentials: "same-origin",
  }).catch(() => null);
  if (answer === null) return "The daemon does not answer. Look whether it runs, then try again.";
  if (answer.ok) return "";
  if (answer.status === 401 && path !== "/api/session") return SIGNED_OUT;
  const document_ = await answer.json().catch(() => ({}));
  const error = document_.error || { message: `The daemon answered ${answer.status}.`, hint: "" };
  return `${error.message} ${error.hint || ""}`.trim();
}

// -- what a control says, as JSON text; null for nothing. Numbers go as they are typed, so that none loses a digit. -----
const READ = {
  checkbox: (control) => JSON.stringify(control.checked),
  select: (control) => (control.value === "" ? null : JSON.stringify(control.value)),
  number: (control) => (control.value === "" ? null : /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(control.value) ? control.value : String(Number(control.value))),
  text: (control) => JSON.stringify(control.value),
  lines: (control) => JSON.stringify(control.value.split("\n").map((line) => line.trim()).filter(Boolean)),
  json: (control) => (control.value.trim() === "" ? null : JSON.stringify(JSON.parse(control.value))),
};

function answers(form) {
  const some = Number(form.dataset.needed) > 0;
  const parts = [];
  for (const control of form.querySelectorAll("[data-kind]")) {
    const name = control.name;
    let value;
    try {
      value = READ[control.dataset.kind](control);
    } catch (problem) {
      throw Object.assign(new Error(`${name}: this is no JSON (${problem.message}).`), { control });
    }
    if (some && (value === '""' || value === "[]")) value = null;
    if (value !== null) parts.push(`${JSON.stringify(name)}:${value}`);
  }
  return parts.join(",");
}

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ filename: file.name, content: reader.result.slice(reader.result.indexOf(",") + 1) });
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

async function files(form) {
  const found = {};
  for (const control of form.querySelectorAll("input[type=file]")) {
    const given = await Promise.all([...control.files].map(read));
    if (given.length) found[control.name] = given;
  }
  return JSON.stringify(found);
}

async function answer(form) {
  return `{"answers":{${answers(form)}},"files":${await files(form)}}`;
}

function values(form) {
  return JSON.stringify(Object.fromEntries([...new FormData(form)]));
}

function complain(form, text, control) {
  const place = form.querySelector(".problem");
  place.hidden = !text;
  place.textContent = text;
  for (const each of form.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  const named = control || [...form.querySelectorAll("[name]")].find((each) => text && text.includes(`${each.name}:`));
  if (text && named) {
    named.setAttribute("aria-invalid", "true");
    named.focus();
  }
}

async function send(form) {
  const button = form.querySelector("button[type=submit]");
  complain(form, "");
  let body;
  try {
    body = form.dataset.answer ? await answer(form) : values(form);
  } catch (problem) {
    complain(form, problem.message, problem.control);
    return;
  }
  button.disabled = true;
  const problem = await post(form.dataset.answer || form.dataset.json, body);
  button.disabled = false;
  if (problem) {
    complain(form, problem);
    return;
  }
  if (form.dataset.then === "reload") {
    location.reload();  // the page that was asked for
    return;
  }
  const box = form.closest("[data-row]");
  form.reset();
  delete form.dataset.touched;
  if (box) box.remove();
  document.getElementById("main").focus();
  say(form.dataset.said || "The answer is taken, the run goes on.");
  setTimeout(refresh, 300);
}

async function press(button) {
  if (button.dataset.confirm && !window.confirm(button.dataset.confirm)) return;
  button.disabled = true;
  const problem = await post(button.dataset.post, "{}");
  button.disabled = false;
  say(problem || button.dataset.said);
  if (!problem) setTimeout(() => refresh(true), 300);
}

// -- freshness: parts in which nobody types are replaced by the newest ones ---------------------------------------------
function busy(part, pressed) {
  if (part.querySelector("form[data-touched]") !== null) return true;
  return !pressed && (part.contains(document.activeElement) || part.querySelector("details[open]") !== null);
}

// A page that is no longer kept fresh says so, and since when: what it shows may be long over.
function stale(answer) {
  const place = document.getElementById("stale");
  const fresh = answer !== null && (answer.ok || answer.status === 304);
  if (fresh) seen = new Date();
  const why = answer === null ? "The daemon does not answer." : answer.status === 401 ? SIGNED_OUT : `The daemon answered ${answer.status}.`;
  const text = fresh ? "" : `${why} This is how it was at ${seen.toLocaleTimeString()}.`;
  if (place.textContent !== text) place.textContent = text;
  place.hidden = fresh;
}

async function refresh(pressed = false) {
  const answer = await fetch(location.href, { credentials: "same-origin", headers: tag ? { "If-None-Match": tag } : {} }).catch(() => null);
  stale(answer);
  if (answer === null || answer.status === 304 || !answer.ok) return;
  tag = answer.headers.get("ETag") || "";
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = fresh.title;
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
    if (busy(part, pressed)) {
      tag = "";
      continue;
    }
    const focused = part.contains(document.activeElement);
    if (next === null) part.remove();
    else if (part.innerHTML !== next.innerHTML) part.innerHTML = next.innerHTML;
    if (focused && !part.contains(document.activeElement)) (part.querySelector("button") || document.getElementById("main")).focus();
  }
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  send(event.target);
});
document.addEventListener("input", (event) => {
  const form = event.target.closest("form");
  if (form) form.dataset.touched = "yes";
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-post]");
  if (button) press(button);
});
if (document.querySelector("[data-live]")) setInterval(() => { if (!document.hidden) refresh(); }, EVERY);

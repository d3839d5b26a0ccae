// Everything works without this file. Nothing here knows about one page in particular.
"use strict";

// Keys: an element with data-key="x" (or data-key2) is clicked by that key, one
// with data-all="x" by that key with shift; data-focus is focused. Not while the user types, or while an input method
// composes a character.
document.addEventListener("keydown", (e) => {
  if (e.isComposing || e.keyCode === 229 || e.ctrlKey || e.metaKey || e.altKey || e.repeat) return;
  const typing = e.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  if (e.key === "Escape" && typing) {
    typing.blur();
    return;
  }
  if (e.key === "Enter" && !e.shiftKey && e.target.matches("[data-enter]")) {
    e.preventDefault();
    e.target.form.requestSubmit();
    return;
  }
  if (typing || e.key.length !== 1) return;
  const key = e.key.toLowerCase();
  const field = document.querySelector('[data-focus="' + CSS.escape(key) + '"]');
  if (field) {
    e.preventDefault();
    field.focus();
    field.select();
    return;
  }
  const keys = document.getElementById("keys");
  if (keys && key === "?") {
    e.preventDefault();
    if (keys.open) keys.close();
    else keys.showModal();
    return;
  }
  if (keys && keys.open) return;
  const name = CSS.escape(key);
  const step = document.querySelector('[data-step][data-key="' + name + '"]');
  const target = step || document.querySelector(e.shiftKey ? '[data-all="' + name + '"]' : '[data-key="' + name + '"], [data-key2="' + name + '"]');
  if (!target) return;
  e.preventDefault();
  if (step) showNext(step, e.shiftKey);
  else target.click();
});

// Differences, one after another: a button with data-step goes to the next place that its selector
// finds, with shift to the one before. Parts of one sentence on both sides are one place.
function showNext(button, back) {
  const diff = button.closest(".diff");
  const all = [...diff.querySelectorAll(".texts " + button.dataset.step.split(", ").join(", .texts "))];
  const at = all.findIndex((e) => e.classList.contains("here"));
  const rows = [...new Set(all.map((e) => e.closest(".row")))];
  const row = at < 0 ? -1 : rows.indexOf(all[at].closest(".row"));
  const next = rows[row < 0 ? (back ? rows.length - 1 : 0) : (row + (back ? -1 : 1) + rows.length) % rows.length];
  for (const e of diff.querySelectorAll(".here")) e.classList.remove("here");
  for (const e of all) if (e.closest(".row") === next) e.classList.add("here");
  const first = all.find((e) => e.closest(".row") === next);
  if (first) first.scrollIntoView({ block: "center" });
}

// An answer that is copied.
async function copy(button) {
  const from = document.querySelector(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(from.value);
  } catch {
    // Without https there is no clipboard, but a selection can be copied.
    from.closest("details").open = true;
    from.select();
    document.execCommand("copy");
    button.focus();
  }
  button.dataset.done = button.dataset.said;
  document.getElementById("said").textContent = button.dataset.said;
}

document.addEventListener("click", (e) => {
  const step = e.target.closest("[data-step]"), from = e.target.closest("[data-copy]");
  if (step) showNext(step, e.shiftKey);
  if (from) copy(from);
});

// A form is sent once, however often its button is pressed.
document.addEventListener("htmx:beforeRequest", (e) => {
  showLost(false);
  const form = e.target.closest("form");
  if (!form) return;
  if (form.dataset.sent) e.preventDefault();
  form.dataset.sent = "1";
});
document.addEventListener("htmx:afterRequest", (e) => {
  const form = e.target.closest("form");
  if (form) delete form.dataset.sent;
});

// Where no answer comes the page stays, and says so.
function showLost(lost) {
  const e = document.getElementById("lost");
  if (e) e.hidden = !lost;
}
document.addEventListener("htmx:sendError", () => showLost(true));

// A passage that moved: pointing at one side shows the other.
for (const [event, on] of [["mouseover", true], ["mouseout", false]]) {
  document.addEventListener(event, (e) => {
    const moved = e.target.closest && e.target.closest("[data-move]");
    if (!moved) return;
    for (const m of moved.closest(".diff").querySelectorAll('[data-move="' + moved.dataset.move + '"]')) m.classList.toggle("pointed", on);
  });
}

// In a queue, the open row is in sight.
function scrollToOpenRow() {
  const at = document.querySelector(".queue aside ol [aria-current]");
  if (!at) return;
  const list = at.closest("aside"), a = at.getBoundingClientRect(), l = list.getBoundingClientRect();
  if (a.top < l.top || a.bottom > l.bottom) list.scrollTop += a.top - l.top - Math.max(0, l.height - a.height) / 2;
}

// What stays in view: the heads of two columns stand below the buttons, whatever their height.
function setStickyOffsets() {
  const height = (selector) => {
    const e = document.querySelector(selector);
    return e && getComputedStyle(e).position === "sticky" ? e.offsetHeight : 0;
  };
  const bar = height(".bar");
  document.documentElement.style.setProperty("--bar", bar + "px");
  document.documentElement.style.setProperty("--acts", bar + height(".acts, .actbar") + "px");
}
addEventListener("resize", setStickyOffsets);
document.addEventListener("DOMContentLoaded", setStickyOffsets);
document.addEventListener("toggle", setStickyOffsets, true);

// A question that opens has the focus on its answer: a second key decides.
document.addEventListener("toggle", (e) => {
  if (e.target.open && e.target.matches(".ask")) e.target.querySelector("button").focus();
}, true);
document.addEventListener("htmx:afterSettle", setStickyOffsets);

// A page that came in another's place is where the focus goes, as it would on
// a new page: keys are keys again, and what reads aloud begins there.
document.addEventListener("htmx:afterSettle", (e) => {
  if (e.target !== document.body) return;
  if (!document.querySelector("[autofocus]")) document.getElementById("main").focus({ preventScroll: true });
  scrollToOpenRow();
});
document.addEventListener("DOMContentLoaded", scrollToOpenRow);

document.documentElement.classList.add("js");

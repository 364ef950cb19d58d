"use strict";

const root = document.documentElement;
const theme = document.getElementById("theme");
const said = document.getElementById("said");

function isDark() {
  const chosen = root.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function showTheme() {
  theme.textContent = isDark() ? "Light page" : "Dark page";
}

theme.hidden = false;
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
showTheme();

function select(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

// A page that is opened from a file may have no clipboard: then the command is selected, ready to be copied by hand.
async function copy(button) {
  const command = button.parentElement.querySelector("pre");
  let done = "Copied";
  try {
    await navigator.clipboard.writeText(command.textContent);
  } catch {
    select(command);
    done = document.execCommand("copy") ? "Copied" : "Selected";
  }
  button.textContent = done;
  said.textContent = done === "Copied" ? "Command copied" : "Command selected: copy it now";
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

for (const button of document.querySelectorAll(".command button")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}

// A link from the table into something folded away unfolds it.
function unfold() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details");
  if (folded) folded.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();

// Elements of the page; what a user named enters as text only.
const LONG = 40;

function make(tag, settings = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...inside);
  return element;
}

// A long name without its middle: names often differ at their ends only.
const cut = (text, most = LONG) => {
  const letters = Array.from(text); // an emoji is two units of a string
  if (letters.length <= most) return text;
  return letters.slice(0, Math.floor(most / 2)).join("") + "…" + letters.slice(letters.length - Math.floor((most - 1) / 2)).join("");
};
const named = (tag, text, settings = {}) => make(tag, { ...settings, text: cut(text), title: text.length > LONG ? text : null });

const within = (i, low, high) => Math.max(low, Math.min(high, i));

// Tables that are wider than the page say so, and scroll by the keyboard too.
function tellWide() {
  for (const box of document.querySelectorAll(".wide")) {
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("scrolls", scrolls);
    if (scrolls) { box.tabIndex = 0; box.setAttribute("role", "region"); if (!box.ariaLabel) box.setAttribute("aria-label", "Table, scrolls sideways"); }
    else box.removeAttribute("tabindex");
  }
}
addEventListener("resize", tellWide);
addEventListener("toggle", tellWide, true);
tellWide();

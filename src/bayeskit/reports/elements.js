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

const cut = (text, most = LONG) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
const named = (tag, text, settings = {}) => make(tag, { ...settings, text: cut(text), title: text.length > LONG ? text : null });

const within = (i, low, high) => Math.max(low, Math.min(high, i));

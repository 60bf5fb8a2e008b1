// What the pages of `review.js` and `item_review.js` are made of; it stands before each of them.
function make(tag, classes = "", ...children) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  element.append(...children.filter((child) => child !== null)); // a string becomes a text node
  return element;
}

function pressed(text, act) {
  const button = make("button", "", text);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

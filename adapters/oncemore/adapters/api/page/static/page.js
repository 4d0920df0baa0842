// Says when the page is no longer live, in the sentence that it was given; and that it is again.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const line = document.querySelector(".lost");
  const say = (lost) => {
    const text = lost ? line.dataset.lost : "";
    if (line.textContent !== text) line.textContent = text;
  };
  document.body.addEventListener("htmx:sendError", () => say(true));
  document.body.addEventListener("htmx:timeout", () => say(true));
  document.body.addEventListener("htmx:responseError", () => say(true));
  document.body.addEventListener("htmx:beforeOnLoad", (event) => say(event.detail.xhr.status >= 400));
});

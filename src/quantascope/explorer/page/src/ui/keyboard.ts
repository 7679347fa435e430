/** Keys that work everywhere: numbers switch views, "/" goes to the filter, Escape leaves it. */
import { go } from "../router";
import { VIEWS } from "../views/views";

export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    const typing = target.matches("input, select, textarea, [contenteditable]");
    if (event.key === "Escape" && typing) target.blur();
    if (typing) return;
    const view = VIEWS[Number(event.key) - 1];
    if (view) go(view[0]);
    else if (event.key === "/") focusOn(".filter");
    else return;
    event.preventDefault();
  });
}

function focusOn(selector: string): void {
  const field = document.querySelector<HTMLInputElement>(selector);
  field?.focus();
  field?.select();
}

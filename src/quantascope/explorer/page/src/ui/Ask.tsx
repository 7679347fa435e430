/** A field for an input as a person types it, with inputs to click. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { offline } from "../data/client";
import { shortened, visible } from "../format";

interface Props {
  value: string;
  action: string;
  ask: (input: string) => void;
  /** Where an input that is clicked leads. */
  address: (input: string) => string;
  inputs: readonly string[];
  placeholder?: string;
  beside?: ComponentChildren;
}

const LONGEST = 2000;

export function Ask({ value, action, ask, address, inputs, placeholder, beside }: Props) {
  const [text, set] = useState(value);
  const [last, keep] = useState(value);
  if (last !== value) {
    keep(value);
    set(value);
  }
  return (
    <div class="stack tight">
      {!offline && (
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            if (!text.trim()) return;
            ask(text.trim());
            (document.activeElement as HTMLElement | null)?.blur();
          }}
        >
          <input
            class="filter ask"
            maxLength={LONGEST}
            aria-label="Input"
            autocomplete="off"
            spellcheck={false}
            dir="auto"
            placeholder={placeholder ? `An input, as in ${shortened(visible(placeholder), 24)}` : "An input"}
            value={text}
            onInput={(event) => set(event.currentTarget.value)}
          />
          <button class="primary">{action}</button>
          {beside}
        </form>
      )}
      {inputs.length > 0 && (
        <div class="row">
          <span class="muted small">{offline ? "In this file" : "For instance"}</span>
          {inputs.slice(0, offline ? 200 : 14).map((input) => (
            <a key={input} class="chip" href={address(input)} aria-current={input === value ? "true" : undefined}>
              <bdi>{shortened(visible(input), 40)}</bdi>
            </a>
          ))}
          {offline && beside}
        </div>
      )}
    </div>
  );
}

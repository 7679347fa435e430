/** Light or dark: as the system has it until one chooses. */
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";
const KEY = "quantascope-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function chosen(): Theme | null {
  try {
    return localStorage.getItem(KEY) as Theme | null;
  } catch {
    return null;
  }
}

export function theme(): Theme {
  return chosen() ?? (system.matches ? "dark" : "light");
}

export function apply(next: Theme | null = null): void {
  try {
    if (next) localStorage.setItem(KEY, next);
  } catch {
    // A file opened from disk may have no storage; the choice then lasts as long as the page.
  }
  document.documentElement.dataset["theme"] = next ?? theme();
  dispatchEvent(new Event("theme"));
}

export function useTheme(): Theme {
  const [now, set] = useState(theme);
  useEffect(() => {
    const listen = () => set(document.documentElement.dataset["theme"] as Theme);
    addEventListener("theme", listen);
    return () => removeEventListener("theme", listen);
  }, []);
  return now;
}

system.addEventListener("change", () => apply());

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export const HUES = 8;

/** The hue of the i-th of several things, or a colour that is none, as a CSS variable's name. */
export type Hue = number | "ink" | "muted";

export function hue(of: Hue): string {
  return typeof of === "string" ? of : `hue-${((of % HUES) + HUES) % HUES}`;
}

export function hueStyle(of: Hue): { "--hue": string } {
  return { "--hue": `var(--${hue(of)})` };
}

const STOPS = 5;

/** A colour for a share from 0 to 1, of one scale that also those read who see no hues. */
export function sequential(share: number): string {
  const at = Math.max(0, Math.min(1, share)) * (STOPS - 1);
  const first = Math.min(Math.floor(at), STOPS - 2);
  return `color-mix(in oklab, var(--seq-${first + 1}) ${Math.round(100 * (at - first))}%, var(--seq-${first}))`;
}

/** Going through the tokens of an answer, by buttons and by the arrow keys; which one is shown is in the address. */
import { useLayoutEffect } from "preact/hooks";
import { change, route } from "../router";

/** The step that is asked for, if there is one. */
export function clamped(place: string | undefined, steps: number): number {
  return Math.max(0, Math.min(steps - 1, Math.trunc(Number(place)) || 0));
}

/** The arrow keys step through the tokens, but where they move something else. */
export function useArrows(steps: number, place = "step"): void {
  // With the drawing, not after it: whoever sees the token may press a key at once.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const target = event.target as HTMLElement;
      if (!by || !steps || event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea, pre, [role=grid], .graph")) return;
      // The address is asked, not the last drawing of the page: keys come faster than drawings.
      change({ [place]: clamped(String(clamped(route().query[place], steps) + by), steps) }, true);
      event.preventDefault();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [steps, place]);
}

export function Mover({ at, of, move }: { at: number; of: number; move: (to: number) => void }) {
  return (
    <span class="row nowrap">
      <button class="plain icon" aria-label="Previous token" disabled={at === 0} onClick={() => move(at - 1)}>
        ←
      </button>
      token {at + 1} of {of}
      <button class="plain icon" aria-label="Next token" disabled={at === of - 1} onClick={() => move(at + 1)}>
        →
      </button>
    </span>
  );
}

/** Curves made ready to be drawn. */
import type { Line } from "./Chart";

export interface Curve extends Omit<Line, "values"> {
  steps: readonly number[];
  values: readonly (number | null)[];
}

/** Curves measured at different steps, on one axis. */
export function aligned(curves: readonly Curve[]): { x: number[]; lines: Line[] } {
  const x = [...new Set(curves.flatMap(({ steps }) => steps))].sort((a, b) => a - b);
  const lines = curves.map(({ steps, values, ...looks }) => {
    const at = new Map(steps.map((step, place) => [step, values[place] ?? null]));
    return { ...looks, values: x.map((step) => at.get(step) ?? null) };
  });
  return { x, lines };
}

/** What was gained in each interval, as the share gained by each of its bounds. */
export function acquired(gains: readonly number[]): number[] {
  const total = gains.reduce((sum, gain) => sum + gain, 0) || 1;
  let sum = 0;
  return [0, ...gains.map((gain) => (sum += gain) / total)];
}

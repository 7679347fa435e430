import type { Run } from "../data/shapes";
export function DynamicsView(_: { run: Run; runs: Run[] }) {
  return null;
}

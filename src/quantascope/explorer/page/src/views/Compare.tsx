import type { Run } from "../data/shapes";
export function CompareView(_: { run: Run; runs: Run[] }) {
  return null;
}

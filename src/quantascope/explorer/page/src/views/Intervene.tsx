import type { Run } from "../data/shapes";
export function InterveneView(_: { run: Run; runs: Run[] }) {
  return null;
}

import type { Run } from "../data/shapes";
export function ProgramView(_: { run: Run; runs: Run[] }) {
  return null;
}

/** The views, in the order of their number keys. */
export const VIEWS = [
  ["training", "Training"],
  ["quanta", "Quanta"],
  ["trace", "Trace"],
  ["intervene", "Intervene"],
  ["program", "Program"],
  ["dynamics", "Dynamics"],
  ["compare", "Compare"],
  ["claims", "Claims"],
] as const;

export type View = (typeof VIEWS)[number][0];

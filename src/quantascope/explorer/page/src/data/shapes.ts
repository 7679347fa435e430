/** What the page is given. Where a command prints JSON, the shape is the command's. */

export interface Availability {
  there: boolean;
  /** Why a view is not there, and the command that makes what it needs. */
  missing?: string | null;
  command?: string | null;
}

export interface Run {
  id: string;
  title: string;
  kind: string;
  views: Record<string, Availability>;
}

export interface Index {
  runs: Run[];
  /** The command that started the server. */
  command: string;
  /** Files that could not be read, each with its reason. */
  damaged: string[];
}

export interface Curve {
  name: string;
  layer: string;
  values: number[];
}

export interface Training {
  losses: { name: string; steps: number[]; values: (number | null)[] }[];
  /** The bounds of the intervals: one more than a curve has values. */
  bounds: number[];
  layers: string[];
  quanta: Curve[];
}

export interface Event {
  input: string;
  prompt: string[];
  answer: string[];
  /** The position in the answer that the event is about. */
  at: number;
  /** How much was gained at each token of the answer, from 0 to 1. */
  lit: number[];
  value: number;
}

export interface Brushed {
  events: Event[];
  layers: { layer: string; share: number }[];
  quanta: { name: string; gained: number }[];
}

export interface Description {
  text: string;
  f1: number;
  low: number | null;
  high: number | null;
  always_true: number;
  tells: boolean;
}

export interface Quantum {
  name: string;
  layer: string;
  acquired: number;
  demand: number;
  complexity: number | null;
  explained: number;
  words: string;
  description: Description | null;
  recurrence: number | null;
}

export interface Quanta {
  threshold: number;
  rule: string;
  reliable: boolean;
  completeness: number;
  event_correlation: number;
  layers: { layer: string; factors: number; explained: number; svd: number; nmf: number }[];
  quanta: Quantum[];
}

export interface OneQuantum {
  quantum: Quantum;
  bounds: number[];
  curve: number[];
  parents: string[];
  children: string[];
  writers: { name: string; description: string | null }[];
}

export type Which = "strongest" | "borderline" | "absent";

export interface EventPage {
  total: number;
  events: Event[];
}

export interface Unit {
  name: string;
  activity: number;
  says: string | null;
}

export interface Step {
  token: string;
  right: string | null;
  source_token: string;
  gates: Unit[];
  writers: Unit[];
  channels: [string, string][];
  top: [string, number][];
  source_top: [string, number][];
}

export interface Trace {
  input: string;
  preset: string;
  quanta: string[];
  channels: [string, string][];
  output: string[];
  source_output: string[];
  right: string[] | null;
  steps: Step[];
}

export interface Suggestions {
  inputs: string[];
  presets: string[];
}

export interface Effect {
  accuracy_drop: number;
  nll_rise: number;
  nll_interval: [number, number] | null;
  by_token: Record<string, number>;
}

export interface Intervened {
  where: string;
  events: number;
  interventions: { title: string; qmodel: Effect; source: Effect | null }[];
}

export interface Units {
  quanta: string[];
  writers: string[];
  channels: [string, string][];
  panels: string[];
}

export interface Claim {
  claim: string;
  figure: string;
  says: string | null;
  paper: number | null;
  ours: number | null;
  low: number | null;
  high: number | null;
  seeds: number;
  preset: string | null;
  verdict: string;
  command: string;
  /** A drawing as a data address, if one is committed. */
  drawing: string | null;
}

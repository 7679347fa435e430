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

export interface Loss {
  name: string;
  /** `step`: the loss of each update itself. */
  kind: "all" | "held-out" | "class" | "step";
  steps: number[];
  values: (number | null)[];
}

export interface Training {
  losses: Loss[];
  /** The bounds of the intervals: one more than a curve has values. */
  bounds: number[];
  layers: string[];
  quanta: Curve[];
}

export interface Event {
  /** As a person would type it; empty if it cannot be traced. */
  input: string;
  prompt: string[];
  answer: string[];
  /** The position in the answer that the event is about. */
  at: number;
  /** How much was gained at each token of the answer, from 0 to 1. */
  lit: number[];
  value: number;
}

export interface EventPage {
  total: number;
  events: Event[];
}

export interface Brushed extends EventPage {
  layers: { layer: string; share: number }[];
  quanta: { name: string; gained: number }[];
}

export interface Description {
  text: string;
  /** Whose activity is described: the factors, or a Q-model. */
  of: string;
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
  /** The size of its support. */
  events: number;
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
  layers: { layer: string; factors: number; explained: number }[];
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
  preset: string;
  placeholder: string;
}

/** Accuracies are in points, as the command prints them. */
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
  /** What can be done: ablate, force, replace a unit, delete a channel; delete or replace all messages. */
  kinds: string[];
}

export interface Prediction {
  top: [string, number][];
  /** Of the token that is written. */
  probability: number;
}

export interface PreviewStep {
  token: string;
  /** Open under the intervention. */
  gates: Unit[];
  before: Prediction;
  after: Prediction;
  source_before: Prediction;
  source_after: Prediction | null;
}

/** Units broken together on one input; every step is taken after the tokens of the undisturbed trace. */
export interface Preview {
  input: string;
  preset: string;
  title: string;
  /** For a replacement: the input whose messages are received instead. */
  donor: string | null;
  /** Why the network has no counterpart. */
  note: string | null;
  /** Whether the undisturbed tokens are the right answer. */
  right: boolean;
  steps: PreviewStep[];
}

export interface Claim {
  claim: string;
  figure: string;
  says: string | null;
  paper: number | null;
  /** The paper's own run, made again here. */
  run: number | null;
  ours: number | null;
  low: number | null;
  high: number | null;
  seeds: number;
  protocol: string | null;
  panel: string;
  preset: string | null;
  verdict: string;
  command: string;
  /** Where the paper states it. */
  place: string;
  /** Whether there is a figure. */
  drawing: boolean;
}

export interface Program {
  program: string;
  /** Whether an input can be executed here, and how to allow it if not. */
  runs: boolean;
  command: string | null;
  levels: number;
  quanta: { name: string; level: number; emitter: boolean; source: string | null; line: number | null; cardinality: number | null }[];
  edges: { from: string; to: string; kind: "data" | "control" | "both" }[];
  accuracy: Record<string, number>;
  knowledge: Record<string, number> | null;
  inputs: string[];
}

export interface Executed {
  input: string;
  output: string[];
  qmodel_output: string[];
  steps: ExecutedStep[];
}

export interface ExecutedStep {
  token: string;
  qmodel_token: string;
  emitter: string;
  top: [string, number][];
  /** In the order of the program's quanta; `gate` is the Q-model's activity. */
  quanta: { name: string; active: boolean; eligible: boolean; value: string | null; gate: number }[];
  guards: { value: string; on: string[]; case: string; holds: boolean }[];
}

export interface ForestTask {
  name: string;
  parent: string | null;
  depth: number;
  query: number;
  demand: number;
  acquired: number | null;
  /** Steps that Q-dynamics foretells, and demand alone. */
  simulated: number | null;
  simulated_demand_only: number | null;
  loss: (number | null)[];
  coefficient: (number | null)[];
}

export interface Dynamics {
  steps: number[];
  loss: (number | null)[];
  /** The loss that the acquisition times alone imply. */
  reconstructed: (number | null)[];
  threshold: number;
  tasks: ForestTask[];
  /** Nodes that are never asked. */
  hidden: { name: string; parent: string | null; depth: number }[];
  clock: { gamma: number | null; r2: number | null; cost_per_level: number | null };
  forecast: { rank: number | null; log_error: number | null; rank_demand_only: number | null; log_error_demand_only: number | null };
}

export interface Partner {
  name: string;
  mcc: number;
  chance: number;
  recurs: boolean;
}

export interface ComparedRun {
  id: string;
  title: string;
  kind: string;
  /** Those that differ between the runs. */
  settings: [string, string][];
  losses: Loss[];
  bounds: number[];
  /** Partners by run; nothing for its own. */
  quanta: (Quantum & { curve: number[]; partners: (Partner | null)[] })[];
  accuracy: Record<string, number>;
  tasks: { name: string; demand: number; acquired: number | null }[];
}

export interface Compared {
  kind: "source" | "forest" | "accuracy";
  note: string | null;
  permutations: number;
  runs: ComparedRun[];
}

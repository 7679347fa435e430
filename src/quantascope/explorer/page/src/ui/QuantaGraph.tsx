/** The quanta of a Q-model and the channels between them: which are open and used at a token, and which are broken. */
import { useMemo } from "preact/hooks";
import { Graph } from "./Graph";

interface Props {
  quanta: readonly string[];
  channels: readonly [string, string][];
  open: readonly string[];
  used: readonly [string, string][];
  /** Interventions, as in "ablate L0.Q1" and "delete L0.Q1->L1.Q0". */
  units?: readonly string[];
  chosen?: string;
  choose: (quantum: string) => void;
  chooseChannel?: (from: string, to: string) => void;
}

export function QuantaGraph({ quanta, channels, open, used, units = [], chosen, choose, chooseChannel }: Props) {
  const nodes = useMemo(() => quanta.map((name) => ({ id: name, title: name, layer: layerOf(name) })), [quanta]);
  const [lit, thick, broken] = [new Set(open), new Set(used.map(([from, to]) => `${from}>${to}`)), new Set(units)];
  const looks = (name: string) =>
    [
      lit.has(name) && "lit",
      broken.has(`ablate ${name}`) && "cut",
      (broken.has(`force ${name}`) || broken.has(`replace ${name}`)) && "forced",
      name === chosen && "chosen",
    ]
      .filter(Boolean)
      .join(" ");
  return (
    <Graph
      label="Quanta and the channels between them"
      nodes={nodes.map((node) => ({ ...node, class: looks(node.id) }))}
      edges={channels.map(([from, to]) => ({
        from,
        to,
        class: broken.has(`delete ${from}->${to}`) ? "cut" : thick.has(`${from}>${to}`) ? "used" : "",
      }))}
      choose={choose}
      chooseEdge={chooseChannel}
    />
  );
}

/** Quanta are named after their layer, as in L1.Q0. */
function layerOf(name: string): number | undefined {
  const digits = /^L(\d+)\./.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** The scoreboard: every figure of the paper beside ours. */
import { useData } from "../data/client";
import type { Claim } from "../data/shapes";
import { exact, number, visible } from "../format";
import { change, go, link, useRoute } from "../router";
import { Empty, Facts, Panel, Shown, Title } from "../ui/States";
import { type Column, Table } from "../ui/Table";

const COLUMNS: Column<Claim>[] = [
  { key: "claim", title: "Claim", width: "196px", value: (row) => row.claim },
  { key: "figure", title: "Figure", width: "minmax(220px, 1fr)", value: (row) => row.figure.replaceAll("_", " ") },
  { key: "paper", title: "Paper", width: "96px", end: true, value: (row) => row.paper, show: (row) => exact(row.paper) },
  { key: "run", title: "Its run here", width: "112px", end: true, value: (row) => row.run, show: (row) => number(row.run) },
  { key: "ours", title: "Over seeds", width: "96px", end: true, value: (row) => row.ours, show: (row) => number(row.ours) },
  { key: "interval", title: "95 % interval", width: "150px", end: true, value: (row) => row.low, show: (row) => <span class="muted">{interval(row)}</span> },
  { key: "seeds", title: "Runs", width: "70px", end: true, value: (row) => row.seeds },
  { key: "verdict", title: "Verdict", width: "172px", value: (row) => row.verdict, show: (row) => <Verdict verdict={row.verdict} /> },
];

export function ClaimsView() {
  const claims = useData<Claim[]>("claims");
  const { argument, query } = useRoute();
  return (
    <Shown of={claims}>
      {(rows) => {
        const verdicts = [...new Set(rows.map(({ verdict }) => verdict))];
        const only = verdicts.includes(query["verdict"] ?? "") ? query["verdict"]! : null;
        const chosen = rows.find((row) => name(row) === argument);
        return (
          <>
            <Title title="Claims">Every figure that the paper states beside the committed results, and those that are new.</Title>
            {argument && (chosen ? <One claim={chosen} /> : <Empty title={`No figure is called ${visible(argument)}`} />)}
            <Panel flush>
              <Table
                label="Claims"
                noun={["figure"]}
                rows={only ? rows.filter(({ verdict }) => verdict === only) : rows}
                columns={COLUMNS}
                open={open}
                tools={
                  <span class="segments" role="group" aria-label="Verdict">
                    {[null, ...verdicts].map((verdict) => (
                      <button key={verdict} aria-pressed={verdict === only} onClick={() => change({ verdict }, true)}>
                        {verdict ?? "all"} <span class="small">{number(verdict ? rows.filter((row) => row.verdict === verdict).length : rows.length)}</span>
                      </button>
                    ))}
                  </span>
                }
              />
            </Panel>
          </>
        );
      }}
    </Shown>
  );
}

function One({ claim }: { claim: Claim }) {
  return (
    <Panel title={`${claim.claim}: ${claim.figure.replaceAll("_", " ")}`} aside={<a href={link("claims")}>close</a>}>
      <div class="stack">
        {claim.says && <p>{claim.says}</p>}
        <Facts
          facts={[
            ["paper", exact(claim.paper)],
            ["the paper's run, here", number(claim.run)],
            ["ours, over seeds", number(claim.ours), interval(claim)],
            ["runs", number(claim.seeds), claim.preset ?? ""],
            ["verdict", <Verdict verdict={claim.verdict} />],
          ]}
        />
        {told(claim) && <p class="muted">{told(claim)}</p>}
        <pre class="code output" tabIndex={0} aria-label="Command">{claim.command}</pre>
        {claim.drawing && <Drawing claim={claim.claim} />}
      </div>
    </Panel>
  );
}

function Drawing({ claim }: { claim: string }) {
  const found = useData<{ drawing: string }>("drawing", { claim });
  return (
    <Shown of={found} what="Loading the figure">
      {({ drawing }) => (drawing.startsWith("data:image/") ? <img class="drawing" src={drawing} alt={`Figure of ${claim}`} /> : null)}
    </Shown>
  );
}

/** What is compared: the protocol, the panel, and the place in the paper. */
function told({ protocol, panel, place }: Claim): string {
  return [protocol, panel && `panel ${panel}`, place].filter(Boolean).join("; ");
}

const AGREES = new Set(["exact", "within the spread"]);
const DISAGREES = new Set(["outside"]);

function Verdict({ verdict }: { verdict: string }) {
  const mark = AGREES.has(verdict) ? "✓ " : DISAGREES.has(verdict) ? "✗ " : "";
  const looks = AGREES.has(verdict) ? "good" : DISAGREES.has(verdict) ? "bad" : "muted";
  return (
    <span class={looks}>
      {mark}
      {verdict}
    </span>
  );
}

function name({ claim, figure }: Claim): string {
  return `${claim}/${figure}`;
}

function open(row: Claim): void {
  go("claims", name(row), filters());
  scrollTo({ top: 0 });
}

/** The filter and the order of the table stay. */
function filters(): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? ""));
}

function interval({ low, high }: Claim): string {
  return low === null || high === null ? "" : `${number(low)} to ${number(high)}`;
}

/** The scoreboard: every figure of the paper beside ours. */
import { useData } from "../data/client";
import type { Claim } from "../data/shapes";
import { number, visible } from "../format";
import { go, link, useRoute } from "../router";
import { Empty, Facts, Panel, Shown, Title } from "../ui/States";
import { type Column, Table } from "../ui/Table";

const COLUMNS: Column<Claim>[] = [
  { key: "claim", title: "Claim", width: "208px", value: (row) => row.claim },
  { key: "figure", title: "Figure", width: "minmax(230px, 1fr)", value: (row) => row.figure.replaceAll("_", " ") },
  { key: "paper", title: "Paper", width: "96px", end: true, value: (row) => row.paper, show: (row) => number(row.paper) },
  { key: "ours", title: "Ours", width: "96px", end: true, value: (row) => row.ours, show: (row) => number(row.ours) },
  { key: "interval", title: "95 % interval", width: "150px", end: true, value: (row) => row.low, show: (row) => <span class="muted">{interval(row)}</span> },
  { key: "seeds", title: "Runs", width: "70px", end: true, value: (row) => row.seeds },
  { key: "verdict", title: "Verdict", width: "118px", value: (row) => row.verdict, show: (row) => <Verdict verdict={row.verdict} /> },
];

export function ClaimsView() {
  const claims = useData<Claim[]>("claims");
  const { argument } = useRoute();
  return (
    <Shown of={claims}>
      {(rows) => {
        const ofVerdict = (verdict: string) => rows.filter((row) => row.verdict === verdict).length;
        const chosen = rows.find((row) => name(row) === argument);
        return (
          <>
            <Title title="Claims">Every figure that the paper states beside the committed results, and those that are new.</Title>
            <Panel>
              <Facts facts={["reproduced", "differs", "new", "not run"].map((verdict) => [verdict, number(ofVerdict(verdict))])} />
            </Panel>
            {argument && (chosen ? <One claim={chosen} /> : <Empty title={`No figure is called ${visible(argument)}`} />)}
            <Panel flush>
              <Table label="Claims" noun={["figure"]} rows={rows} columns={COLUMNS} open={(row) => open(row)} />
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
            ["paper", number(claim.paper)],
            ["ours", number(claim.ours), interval(claim)],
            ["runs", number(claim.seeds), claim.preset ?? ""],
            ["verdict", <Verdict verdict={claim.verdict} />],
          ]}
        />
        <pre class="code output" tabIndex={0}>{claim.command}</pre>
        {claim.drawing?.startsWith("data:image/") && <img src={claim.drawing} alt={`Figure of ${claim.claim}`} style={{ maxWidth: "100%", background: "#fff", borderRadius: "8px" }} />}
      </div>
    </Panel>
  );
}

function Verdict({ verdict }: { verdict: string }) {
  const mark = { reproduced: "✓ ", differs: "✗ " }[verdict] ?? "";
  const looks = { reproduced: "good", differs: "bad" }[verdict] ?? "muted";
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

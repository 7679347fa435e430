/** Tokens in a row; how much each is lit says how much a quantum helped there. */
import { visible } from "../format";

export interface Token {
  text: string;
  /** From 0 to 1; nothing for a token of the context. */
  lit?: number | null;
  target?: boolean;
  wrong?: boolean;
  title?: string;
}

export function Tokens({ tokens, chosen, choose }: { tokens: readonly Token[]; chosen?: number; choose?: (index: number) => void }) {
  return (
    <div class="tokens">
      {tokens.map((token, index) =>
        choose ? (
          <button key={index} class={looks(token)} aria-pressed={index === chosen} title={token.title} onClick={() => choose(index)}>
            {visible(token.text)}
          </button>
        ) : (
          <span key={index} class={looks(token)} title={token.title} style={{ "--lit": token.lit ?? 0 }}>
            {visible(token.text)}
          </span>
        ),
      )}
    </div>
  );
}

function looks(token: Token): string {
  const lit = token.lit === undefined ? "" : token.lit === null ? " context" : " lit";
  return `token${lit}${token.target ? " target" : ""}${token.wrong ? " wrong" : ""}`;
}

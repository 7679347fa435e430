/** The data of an offline file: gzip of one JSON object from request to answer, in base64. */

let held: Promise<Record<string, unknown>> | null = null;
let unpacked: Record<string, unknown> | null = null;

export const embedded = document.getElementById("embedded")?.textContent?.trim() || null;

export function answers(): Promise<Record<string, unknown>> {
  held ??= unpack(embedded ?? "");
  return held;
}

/** Whether the file answers this; nothing is known before its first answer. */
export function answered(key: string): boolean {
  return unpacked !== null && key in unpacked;
}

async function unpack(text: string): Promise<Record<string, unknown>> {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  unpacked = JSON.parse(await new Response(stream).text()) as Record<string, unknown>;
  return unpacked;
}

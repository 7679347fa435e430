/** The data of an offline file: gzip of one JSON object from request to answer, in base64. */

let held: Promise<Record<string, unknown>> | null = null;

export const embedded = document.getElementById("embedded")?.textContent?.trim() || null;

export function answers(): Promise<Record<string, unknown>> {
  held ??= unpack(embedded ?? "");
  return held;
}

async function unpack(text: string): Promise<Record<string, unknown>> {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as Record<string, unknown>;
}

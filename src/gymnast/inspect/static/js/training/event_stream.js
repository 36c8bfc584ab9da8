// text/event-stream, read from a fetch.

/** Feed it pieces of text; it gives back the events that they complete: [{name, data}], data from JSON. */
export class EventReader {
  #rest = "";

  feed(piece) {
    const blocks = (this.#rest + piece).split("\n\n");
    this.#rest = blocks.pop();
    return blocks.map(parsed).filter(Boolean);
  }
}

function parsed(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}

/** The events of a body, one after another, as they come. */
export async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventReader();
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    yield* events.feed(value);
  }
}

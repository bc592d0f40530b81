/** In UTF-16 units. Rendering them takes 0.2 s at most, also if the text was made to take long. */
const sliceLength = 4096

/** The slices of a text, each in a turn of the event loop, so that signals and keys are handled in between. */
export async function* slicesInTurns(text: string): AsyncGenerator<string> {
  for (let from = 0; from < text.length; from += sliceLength) {
    if (from > 0) await new Promise<void>((resolve) => setImmediate(resolve))
    yield text.slice(from, from + sliceLength)
  }
}

/** The most that a caller is shown of a model server's own words, in characters. */
const longest = 1000

/**
 * The words of a model server's error: `{"error":{"message"}}` as OpenAI has it, `{"error":"…"}` as
 * Ollama, `{"message"}`, `{"detail"}` or `{"detail":[{"msg"}]}` as servers made with FastAPI.
 * Undefined for anything else.
 * @param hidden as `UpstreamAddress` has it
 */
export function messageIn(body: unknown, hidden: readonly string[]): string | undefined {
  const { error, message, detail } = Object(body)
  const first: unknown = Array.isArray(detail) ? Object(detail[0]).msg : undefined
  const places = [Object(error).message, error, message, detail, first]
  const found = places.find((words) => typeof words === 'string')
  return found === undefined ? undefined : shown(found, hidden)
}

function shown(words: string, hidden: readonly string[]): string {
  // Before it is cut: half a key is not to be found any more.
  return hidden.reduce((text, secret) => text.replaceAll(secret, '…'), words).slice(0, longest)
}

/** The same of a text that may not be JSON: bare words count, a web page does not. */
export function messageOf(text: string, hidden: readonly string[]): string | undefined {
  try {
    return messageIn(JSON.parse(text), hidden)
  } catch {
    const words = text.trim()
    return words === '' || /^[<{[]/.test(words) ? undefined : shown(words, hidden)
  }
}

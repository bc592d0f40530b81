/** The most that a caller is shown of a model server's own words, in characters. */
const longest = 1000

/**
 * The words of a model server's error: `{"error":{"message"}}` as OpenAI has it, `{"error":"…"}` as
 * Ollama, `{"message"}`, `{"detail"}` or `{"detail":[{"msg"}]}` as servers made with FastAPI.
 * Undefined for anything else.
 * @param key this service's own, which servers quote, and of which no answer may tell
 */
export function messageIn(body: unknown, key: string | undefined): string | undefined {
  const { error, message, detail } = Object(body)
  const first: unknown = Array.isArray(detail) ? Object(detail[0]).msg : undefined
  const places = [Object(error).message, error, message, detail, first]
  const found = places.find((words) => typeof words === 'string')
  return found === undefined ? undefined : shown(found, key)
}

function shown(words: string, key: string | undefined): string {
  // Before it is cut: half a key is not to be found any more.
  return (key === undefined ? words : words.replaceAll(key, '…')).slice(0, longest)
}

/** The same of a text that may not be JSON: bare words count, a web page does not. */
export function messageOf(text: string, key: string | undefined): string | undefined {
  try {
    return messageIn(JSON.parse(text), key)
  } catch {
    const words = text.trim()
    return words === '' || /^[<{[]/.test(words) ? undefined : shown(words, key)
  }
}

/** The most that a caller is shown of a model server's own words, in characters. */
const longest = 1000

/**
 * The words of a model server's error: `{"error":{"message"}}` as OpenAI has it, `{"error":"…"}` as
 * Ollama, `{"message"}` or `{"detail"}` as servers made with FastAPI. Undefined for anything else.
 */
export function messageIn(body: unknown): string | undefined {
  const { error, message, detail } = Object(body)
  const found = [Object(error).message, error, message, detail].find((words) => typeof words === 'string')
  return found?.slice(0, longest)
}

/** The same of a text that may not be JSON. */
export function messageOf(text: string): string | undefined {
  try {
    return messageIn(JSON.parse(text))
  } catch {
    return undefined
  }
}

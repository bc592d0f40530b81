/** Model servers that people run on their own machine, at the ports they listen on by default. */
export const presets = {
  ollama: 'http://127.0.0.1:11434/v1',
  'llama.cpp': 'http://127.0.0.1:8080/v1',
  'lm-studio': 'http://127.0.0.1:1234/v1',
} as const

/** The base URL that a preset's name stands for; anything else is itself. */
export function resolvePreset(nameOrUrl: string): string {
  return Object.hasOwn(presets, nameOrUrl) ? presets[nameOrUrl as keyof typeof presets] : nameOrUrl
}

const unitInBytes = { k: 1024, m: 1024 ** 2, g: 1024 ** 3 } as const

/**
 * Reads `500k`, `2m`, `1.5MiB`; a bare number is bytes. The units are powers of 1024.
 *
 * @returns bytes, or undefined for another text
 */
export function parseFileSize(text: string): number | undefined {
  const [, number, unit] = /^(\d{1,15}(?:\.\d{1,9})?)(?:([kmg])(?:i?b)?|b)?$/i.exec(text.trim()) ?? []
  if (number === undefined) return undefined
  const factor = unit === undefined ? 1 : unitInBytes[unit.toLowerCase() as keyof typeof unitInBytes]
  return Math.floor(Number(number) * factor)
}

import { encode } from 'uqr'

/** Modules of the quiet zone. ISO/IEC 18004 has 4; scanners accept 2, which fit a terminal of 40 columns. */
const border = 2

/**
 * Draws a QR code for a dark background, with two modules in each character: light modules are blocks.
 * All lines have the same width.
 */
export function drawQrCode(text: string): string[] {
  const { data } = encode(text, { border })
  const isLight = (row: number, column: number) => data[row]?.[column] === false
  return data
    .filter((_, row) => row % 2 === 0)
    .map((cells, half) =>
      cells
        .map((_, column) => blocks[`${isLight(2 * half, column)} ${isLight(2 * half + 1, column)}`])
        .join(''),
    )
}

/** By whether the upper and the lower module are light. */
const blocks = { 'true true': '█', 'true false': '▀', 'false true': '▄', 'false false': ' ' } as const

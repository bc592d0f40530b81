/**
 * Removes the characters by which a text could steer a terminal: C0 but for tab and newline, DEL,
 * C1, and the marks that reorder what is read (Unicode bidirectional controls).
 */
export function stripControls(text: string): string {
  return text.replace(controls, '')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

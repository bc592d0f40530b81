import stringWidth from 'string-width'

/**
 * Columns that a text takes. What most texts are made of is known without looking at each character:
 * Latin, Greek and Cyrillic letters, dashes and quotes take one, Chinese and Japanese ones two.
 */
export function displayWidth(text: string): number {
  if (narrow.test(text)) return text.length
  return wide.test(text) ? 2 * text.length : stringWidth(text)
}

const narrow = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2500-\u257f]*$/
const wide = /^[\u3001-\u3029\u3041-\u3096\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff60]*$/

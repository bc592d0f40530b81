import fc from 'fast-check'
import { plainStyle, type TextStyle } from '../../src/talk/markdown/text-style.ts'

/** Styles that can be read: `<b>bold</b>`. */
export const readable: TextStyle = {
  bold: tag('b'),
  italic: tag('i'),
  dim: tag('dim'),
  underline: tag('u'),
  strike: tag('s'),
  red: tag('red'),
  green: tag('green'),
  yellow: tag('yellow'),
  blue: tag('blue'),
  magenta: tag('magenta'),
  cyan: tag('cyan'),
}

function tag(name: string): (text: string) => string {
  return (text) => `<${name}>${text}</${name}>`
}

export { plainStyle }

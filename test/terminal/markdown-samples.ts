import fc from 'fast-check'
import type { TextStyle } from '../../src/terminal/markdown/text-style.ts'

/** Styles as readable tags: `<b>bold</b>`. */
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

const pieces = [
  ...['\n', '\n\n', '\n', ' ', ' ', '  \n', '\t', '\r\n', '\\', '\\\n', '    '],
  ...['*', '**', '_', '`', '``', '~~', '~', '[', ']', '](http://a.b/c_d)', '![', '<', '>', '<br>', '|', '!'],
  ...[
    '\n> ',
    '\n- ',
    '\n  - ',
    '\n1. ',
    '\n2) ',
    '\n- [ ] ',
    '\n# ',
    '\n### ',
    '\n---\n',
    '\n===\n',
    '\n***',
  ],
  ...['\n```js\n', '\n```\n', '\n~~~\n', '\n| a | b |\n|---|:-:|\n', '\n| x | y |', '\n|--', '|-|-|\n'],
  ...[
    'word',
    'two words',
    'a',
    '1',
    '12.',
    'snake_case',
    'https://example.com/x?y=1',
    'const a = "b"',
    '/*',
    '*/',
  ],
  ...['中文', '、', '👩‍👩‍👧', '🇩🇪', 'é', 'e\u0301', '\ud83d', '&amp;', '&#27;', 'x'.repeat(30)],
  ...[
    '\u001b[31m',
    '\u001b]0;title\u0007',
    '\u001b]8;;http://x\u001b\\',
    '\u001b',
    '\u009b',
    '\u202e',
    '\u0007',
  ],
]

/** Text with many Markdown marks, closed or unclosed, valid or not. */
export const anyMarkdown = fc
  .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 40 })
  .map((parts) => parts.join(''))

import fc from 'fast-check'
import { codePoint } from '../support/code-point.ts'

/** A number in any notation of JSON (RFC 8259 section 6). */
export const anyNumberText = fc.oneof(
  fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,24})?([eE][+-]?\d{1,4})?$/),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map((number) => JSON.stringify(number)),
  fc.constantFrom(
    ...['9007199254740991', '9007199254740992', '9007199254740993', '1234567890123456789', '1.0', '-0'],
    ...['-0.0', '1e400', '1E5', '1e-7', '0.0000001', '0.1', '100', '1.10', '12345678901234567890.5'],
  ),
)

const specialCharacters =
  'a \n\r\t,;"\'\\:#-|>=\0' + '1._\u0007\u007f\u0085\u0092\u00a0\u2028\u2029\ufeff\ufffe' + '😀'
/** Texts that are no strings in some YAML, if they are not quoted. */
const specialWords =
  'null ~ true yes No on OFF y n = << .inf .NaN - ? !!str 012 0o7 0x1F 0b11 1_000 1:30 190:20:30.15 1e5 1.0 +1 -.5 . 1. ._1 2026-11-22 2026-11-22T10:00:00Z --- ... &a *a @a `a %a [a {a | >'
const specialLines = [
  ...['2026-11-22 1:00:00.5 -5', '- a', 'a: b', 'a #b'],
  ...[' \n ', '\n', 'a\n', '\na', 'a\n\n', ' a\nb', 'a \nb'],
]

/** Any text, including texts that are special in an output format. */
export const anyText = fc.oneof(
  // Lines that a writer must wrap.
  fc
    .array(
      fc.constantFrom('word', ' ', '  ', '\n', ' \n', '\t', '"', "'", ': ', ' #', '\\', 'é', 'w'.repeat(50)),
      { maxLength: 40 },
    )
    .map((pieces) => pieces.join('')),

  fc.string({ unit: codePoint, maxLength: 12 }).map((text) => text.toWellFormed()),
  fc.array(fc.constantFrom(...specialCharacters), { maxLength: 12 }).map((units) => units.join('')),
  fc.constantFrom('', ...specialWords.split(' '), ...specialLines),
)

/** The text of any value of JSON, without white space. */
export const anyJsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    anyNumberText,
    anyText.map((text) => JSON.stringify(text)),
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
    fc
      .uniqueArray(fc.tuple(anyText, tie('value')), { maxLength: 4, selector: ([name]) => name })
      .filter((entries) => entries.every(([name]) => isKept(name)))
      .map((entries) => `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`),
  ),
})).value

/**
 * Excludes names that JSON.parse does not keep. JavaScript moves integer names to the front. After the name
 * \\, JSON.parse of V8 13 and 14 confuses other names that begin with an escape (nodejs/node issue 63785).
 */
function isKept(name: string): boolean {
  return !/^(\d+$|\\)/.test(name)
}

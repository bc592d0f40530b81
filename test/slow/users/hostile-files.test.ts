import { expect } from 'chai'
import type { InputFormat } from '../../../src/bulk/input/input.ts'
import { readRows } from '../../../src/bulk/input/read-rows.ts'
import { readSettingsFiles } from '../../../src/settings/file/read-settings-files.ts'
import { userRows } from '../../../src/users/rows/user-rows.ts'
import { describeSample } from '../../support/take-sample.ts'

/** Files whose reading took minutes, or all memory. A faulty reader exceeds the timeout by far. */

const repeat = (count: number, write: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => write(index)).join('')

/** Format, name, text, and how it ends: the number of faults, or the message of the failure. */
const hostile: readonly [InputFormat, string, string, number | RegExp][] = [
  ['yaml', 'a wide map', `- metadata:\n${repeat(80_000, (n) => ` k${n}:\n`)}`, 1],
  ['yaml', 'a wide map of unknown fields', `- {${repeat(90_000, (n) => `k${n}: v,`)}}`, 90_000],
  ['yaml', 'one key that repeats', `- {${repeat(90_000, () => 'k: v,')}}`, 1],
  ['yaml', 'keys in keys', `- ${'? - '.repeat(45)}a`, 1],
  ['yaml', 'invalid escapes', `- "${'\\q'.repeat(400_000)}"`, 1],
  ['yaml', 'a list of errors', `users: [${repeat(60_000, () => 'a b: c: d,')}]`, /^rows:1:14: /],
  ['yaml', 'anchors', `users: ${'&a '.repeat(200_000)}`, /at most one anchor$/],
  ['yaml', 'lines of a string', `users: "${'a\n '.repeat(2_000_000)}"`, /1600000 values, marks, and lines$/],
  ['yaml', 'a long item', `- ${'a'.repeat(2 ** 21)}`, /^rows:1: the row is longer than 1 MiB$/],
  ['yaml', 'documents', '---\na\n'.repeat(100_000), /^rows:3:1: unexpected second document/],
  ['csv', 'columns', `email${repeat(70_000, (n) => `,metadata.${n}`)}\n`, /contains no users$/],
  [
    'csv',
    'faulty cells',
    `email${repeat(50_000, (n) => `,metadata.${n}:=`)}\na@x.y${',{'.repeat(50_000)}\n`,
    50_000,
  ],
  ['jsonl', 'unknown fields', `{"email":"a@x.y"${repeat(80_000, (n) => `,"k${n}":1`)}}`, 80_000],
  ['json', 'unknown fields', `[{"email":"a@x.y"${repeat(200_000, (n) => `,"k${n}":1`)}}]`, 200_000],
]

describeSample('a hostile file', 5, () => {
  for (const [format, name, text, ends] of hostile) {
    it(`is read or refused in linear time: ${name}, in ${format}`, async () => {
      let faults = 0
      let refusal = ''
      try {
        for await (const row of readRows({ name: 'rows', format, text }, userRows('users')))
          faults += row.faults.length
      } catch (error) {
        refusal = (error as Error).message
      }
      if (typeof ends === 'number') expect([faults, refusal]).to.deep.equal([ends, ''])
      else expect(refusal).to.match(ends)
    })
  }

  it('of settings is refused in linear time', () => {
    for (const keys of ['k.'.repeat(2 ** 21), repeat(9_000, (n) => `${'k'.repeat(1_000)}${n}": 1, "`)])
      expect(() => readSettingsFiles([{ name: 's.json', text: `{"${keys}": 1}` }])).to.throw(
        /is an unknown key/,
      )
  })
})

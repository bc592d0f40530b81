import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { filterWithJq } from '../../src/cli/output/jq.ts'

/** `--jq` and the older jq of Debian give the same result for filters that both support. */

const inputs: unknown[] = [
  null,
  [],
  {},
  'text',
  '  spaces \n and lines\n\n',
  [3, 1, 2, 1],
  [
    { a: 1, b: 'x' },
    { a: 2, b: null },
    { a: 1, b: '"quoted"\t\\' },
  ],
  {
    id: 'u1',
    name: 'Ada \u2029 é 😀',
    metadata: { list: [1, [2, [3]]], deep: { a: { b: { c: true } } } },
    empty: '',
  },
  {
    data: Array.from({ length: 50 }, (_, index) => ({ id: `m${index}`, n: index / 4, odd: index % 2 === 1 })),
  },
]

const filters = [
  '.',
  '..',
  'type, length',
  '.[]?',
  '.id?, .name?',
  '.metadata?.list?',
  'keys?',
  'to_entries?',
  'with_entries(.value |= tostring)?',
  'map(.)?',
  'map(select(type == "object"))?',
  'sort?, unique?',
  'sort_by(.b)?',
  'group_by(.a)? | map(length)',
  'map(.a)? | add',
  '[.data[]? | select(.odd) | .id] | join(",")',
  '[.data[]?.n] | min, max, add',
  '.data?[2:5]?',
  '[limit(3; .data[]?)]',
  'first(.data[]?)',
  '[paths] | length',
  '[.. | numbers]',
  '[.. | strings] | map(ascii_downcase)',
  '[.. | strings | split(" ")]',
  '[.. | strings | test("^[a-z]+$")]',
  '[.. | strings | sub("a"; "b")]',
  '[.. | strings | gsub("[aeiou]"; "*")]',
  '[.. | strings | @base64]',
  '[.. | strings | @uri]',
  '[.. | strings | @html]',
  '[.. | strings | @json]',
  '.[]? | objects | [.a, .b] | @csv',
  '.[]? | objects | [.a, .b] | @tsv',
  '.[]? | objects | "\\(.a): \\(.b)"',
  'tojson',
  'tojson | fromjson',
  'flatten?',
  '(.metadata.list? // []) | flatten',
  'any?, all?',
  'has("id")?',
  'if type == "array" then length elif type == "object" then keys else . end',
  'reduce .[]? as $x (0; . + 1)',
  '[foreach .[]? as $x (0; . + 1; [., ($x | type)])]',
  'try error("no") catch .',
  '.a? // "none"',
  '[recurse(.[]?; type == "array")] | length',
  'def depth: if type == "array" or type == "object" then ([.[] | depth] | max // 0) + 1 else 0 end; depth',
  '. as [$a, $b] ?// $a | [$a]',
  'del(.id?, .metadata?)?',
  'delpaths([["metadata", "deep"]])?',
  'setpath(["x"]; 1)?',
  '[splits(", *")]?',
  '"\\u0000 \\u2028 é"',
  '"", "  x\\n"',
  '[1, 1.5, 100000, 0.001, -1]',
  'ascii?',
  '@text',
  'empty',
  '[range(0; 10; 3)]',
  'now | type',
  '"2026-01-02T03:04:05Z" | fromdate | todate',
  '[.[]?] | transpose?',
  'tostream | tojson',
  'fromstream(tostream)',
  'env | type',
  'splits',
  '.[',
  'nothing',
]

describe('--jq, compared with jq', function () {
  this.timeout(120_000)
  for (const filter of filters) {
    it(`gives the same result for ${filter}`, async () => {
      const guarded = `try (${filter}) catch "failed"`
      const found: string[] = []
      try {
        for (const input of inputs) found.push(await filterWithJq(input, guarded))
      } catch {
        found.push('cannot be read')
      }
      const expected = runJq(guarded)
      expect(expected === undefined ? ['cannot be read'] : [expected]).to.deep.equal([found.join('')])
    })
  }
})

/** The output of jq for all inputs. Undefined if jq rejects the filter. */
function runJq(filter: string): string | undefined {
  try {
    const input = inputs.map((one) => JSON.stringify(one)).join('\n')
    return execFileSync('/usr/bin/jq', ['-r', filter], { input, encoding: 'utf8', stdio: 'pipe' })
  } catch {
    return undefined
  }
}

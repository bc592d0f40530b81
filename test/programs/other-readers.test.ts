import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import fc from 'fast-check'
import yaml from 'yaml'
import { parseJson } from '../../src/contract/notation/exact-json.ts'
import { yamlWriting } from '../../src/contract/notation/yaml-scalars.ts'
import { renderCsv, renderTsv } from '../../src/view/format/delimited.ts'
import { anyJsonText, anyText } from '../contract/any-json.ts'
import { answer, startFaultServer } from '../support/fault-server.ts'
import { perSuite } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'

/** Reads what chatctl writes in Python: with json, csv, and PyYAML (python3-yaml), which reads YAML 1.1. */

const compareYaml = `
import json, sys, yaml
def same(one, other):
    if type(one) is not type(other): return False
    if isinstance(one, dict): return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list): return len(one) == len(other) and all(map(same, one, other))
    return one == other
wrong = []
for source, text in json.load(sys.stdin):
    try:
        if same(json.loads(source), yaml.load(text.encode(), yaml.CSafeLoader if len(sys.argv) > 1 else yaml.SafeLoader)): continue
        wrong.append([source, text, 'differs'])
    except Exception as error:
        wrong.append([source, text, str(error)])
json.dump(wrong[:3], sys.stdout)
`

const readRows = `
import csv, io, json, sys
json.dump([list(csv.reader(io.StringIO(text, newline=''))) for text in json.load(sys.stdin)], sys.stdout)
`

const readLines = `
import json, sys
def cell(text):
    out, at = '', 0
    while at < len(text):
        if text[at] == '\\\\':
            out += {'\\\\': '\\\\', 't': '\\t', 'n': '\\n', 'r': '\\r'}[text[at + 1]]
            at += 1
        else: out += text[at]
        at += 1
    return out
json.dump([[[cell(one) for one in line.split('\\t')] for line in text.split('\\n')[:-1]] for text in json.load(sys.stdin)], sys.stdout)
`

function python(script: string, input: unknown, ...args: string[]): unknown {
  const options = { input: JSON.stringify(input), encoding: 'utf8', maxBuffer: 2 ** 28 } as const
  return JSON.parse(execFileSync('/usr/bin/python3', ['-c', script, ...args], options))
}

const seed = 20_261_125

describe('output that Python reads', function () {
  this.timeout(120_000)

  for (const [name, ...args] of [['the Python loader'], ['the C loader', 'c']] as const) {
    it(`has the same value in YAML as in JSON: ${name}`, () => {
      const sources = fc.sample(anyJsonText, { numRuns: 3_000, seed })
      const texts = sources.map((source) => {
        const value = parseJson(source)
        return [source, yaml.stringify(value, yamlWriting(value))]
      })
      expect(python(compareYaml, texts, ...args)).to.deep.equal([])
    })
  }

  it('has the same cells in CSV and in unescaped TSV', async () => {
    const grids = fc.sample(
      fc.integer({ min: 1, max: 4 }).chain((width) => {
        const row = fc.array(anyText, { minLength: width, maxLength: width })
        return fc.record({
          header: fc.constant(Array(width).fill('h')),
          rows: fc.array(row, { maxLength: 4 }),
        })
      }),
      { numRuns: 2_000, seed },
    )
    const csv = await Promise.all(grids.map((grid) => renderCsv(grid)))
    expect(python(readRows, csv)).to.deep.equal(grids.map(({ header, rows }) => [header, ...rows]))
    expect(python(readLines, grids.map(renderTsv))).to.deep.equal(grids.map(({ rows }) => rows))
  })

  describe('from the built program', () => {
    const sandbox = createSandbox()
    const server = perSuite(() =>
      startFaultServer((request, ...rest) => {
        const text = request.path.startsWith('/v1/settings') ? settings : user
        return answer(200, { 'content-type': 'application/json' }, text)(request, ...rest)
      }),
    )
    after(() => {
      sandbox.remove()
    })
    const text = JSON.stringify('a\u2029b\u0085c\u2028d\u007fe\u009ff\ufeffg\ufffeh')
    const user = `{"id":"u1","name":${text},"created_at":"2026-01-02T03:04:05Z","metadata":{"n":9007199254740993,"x":1.0,"y":1E5}}`
    const settings = `{"app_name":${text},"limits":{"max_tokens":9007199254740993,"max_requests_per_min":60}}`

    for (const [source, args] of [
      [user, ['users', 'get', 'u1', '-o', 'yaml']],
      [settings, ['settings', 'export']],
    ] as const) {
      it(`has the value that the service returned: ${args.join(' ')}`, async () => {
        const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
        const { stdout, stderr } = await runProgram(sandbox, args, { env })
        expect(stderr).to.equal('')
        expect(python(compareYaml, [[source, stdout]])).to.deep.equal([])
      })
    }
  })
})

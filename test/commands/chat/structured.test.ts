import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { findValue } from '../../../src/commands/chat/structured/find-value.ts'
import { canonicalJson, parseJson } from '../../../src/contract/notation/exact-json.ts'
import { anyJsonText } from '../../contract/any-json.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

const schema =
  '{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"day":{"format":"date"}}}'
const example = '{"n": 9007199254740993, "x": [1.0, 1e400]}'

const said = (response: string, more: object = { context_id: 'c1' }) =>
  json(200, { id: 'm1', response, ...more })
const completed = (content: string) =>
  json(200, { choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }] })

describe('chat send --schema', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  const run = (words: readonly string[], given: HostOptions & { stdin?: string } = {}) =>
    runChatctl(sandbox, ['chat', 'send', 'List', '--schema', schema, ...words], { ...given, service: server })
  const bodies = () => server.requests.map(({ body }) => JSON.parse(body))

  for (const [what, reply] of [
    ['the whole reply', ` ${example}\n`],
    ['a code block', `Here it is:\n\n\`\`\`json\n${example}\n\`\`\`\nDone [1].`],
    ['a code block without a language', `- Here:\n  ~~~\n  ${example}\n  ~~~\n`],
    ['a value beside code of a language', `\`\`\`sh\necho\n\`\`\`\n\`\`\`json\n${example}`],
    ['a value with words around it', `Your "list" is ${example}, as you wanted.`],
  ] as const)
    it(`prints the value as the model wrote it, with exact numbers: ${what}`, async () => {
      for (const words of what === 'the whole reply' ? [[], ['--json'], ['--no-stream']] : [[]]) {
        await server.serve(said(reply))
        expect(await run(words)).to.deep.equal({ exitCode: 0, stdout: `${example}\n`, stderr: '' })
      }
      const [body] = bodies()
      expect(body.message).to.equal(`List\n\nReply only with JSON that fits this JSON Schema:\n\n${schema}`)
      // Another service may refuse it.
      expect(body).not.to.have.property('response_format')
    })

  for (const [reply, fault] of [
    ['', 'it contains no JSON value'],
    ['I cannot do that.', 'it contains no JSON value'],
    ['{"n": 1}\n{"n": 2}', 'it contains several JSON values'],
    ['```\n{"n": 1}\n```\nor\n```json\n{"n": 2}\n```', 'it contains 2 code blocks'],
    ['It is "{n} or {"n": 1}"', 'its JSON is invalid at line 1, column 9: expected a JSON value'],
    ['It is "like [1]"', 'it contains JSON in quotation marks'],
    [
      'Here:\n```json\n{\n  // the number\n  "n": 1}\n```',
      'its JSON is invalid at line 4, column 3: JSON has no comments',
    ],
    ['{"n": {"n": 1}, "m": [', 'its JSON ends too early, at line 1, column 23'],
    ['Here:\n```json\n{"n": 1,', 'its JSON ends too early, at line 3, column 9'],
    ['{"n": 1, }', 'its JSON is invalid at line 1, column 10: '],
    ['[1]', 'the value must be object'],
    ['{"n": 1.5}', '/n must be integer'],
    ['{"n": 1, "day": "today"}', '/day must match format "date"'],
    ['{}', "the value must have required property 'n'"],
  ] as const)
    it(`exits 7 and keeps the reply: ${JSON.stringify(reply)}`, async () => {
      await server.serve(said(reply))
      const failed = await run(['--attempts', '1'])
      expectFailure(
        failed,
        7,
        `The reply does not fit the JSON Schema: ${fault}`,
        'Show it with: chatctl chat show s',
      )
      const [, path, id = ''] =
        /The transcript is (\S+)\. Show it with: chatctl chat show (\S+)/.exec(failed.stderr) ?? []
      expect(path).to.equal(join(sandbox.home, `.local/share/chatctl/sessions/${id}.jsonl`))
      expect(readFileSync(path ?? '', 'utf8')).to.include(JSON.stringify(reply).slice(1, -1))
      if (reply !== '{}') return
      expect((await runChatctl(sandbox, ['chat', 'show', id])).stdout).to.include(reply)
      const { error } = JSON.parse((await run(['--attempts', '1', '--json'])).stderr)
      expect(error).to.include({ code: 'schema_mismatch' })
      expect(error.details.faults[0]).to.include(fault)
    })

  it('writes a reply that is not recorded to stderr', async () => {
    await server.serve(said('Three items.'))
    const failed = await run(['--no-save'])
    expectFailure(failed, 7, 'Reply 2 of 2 does not fit the JSON Schema: it contains no JSON value')
    expect(failed.stderr).to.include('Three items.\n').and.not.include('transcript')
  })

  it('names the faults in the same conversation until a reply fits', async () => {
    await server.serve([said('{"n": "x", "day": 1}'), said('[]'), said('{"n":1}')])
    const { exitCode, stdout, stderr } = await run(['--attempts', '3'])
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 0, stdout: '{"n":1}\n' })
    expect(stderr).to.equal(
      ['/n must be integer', 'the value must be object']
        .map((fault, index) => `Reply ${index + 1} of 3 does not fit the JSON Schema: ${fault}\n`)
        .join(''),
    )
    const [, second] = bodies()
    expect(second).to.include({
      context_id: 'c1',
      message:
        'Your reply does not fit the JSON Schema:\n- /n must be integer\nReply again, only with JSON that fits it.',
    })
    await run(['-c', '-m', 'small'])
    expect(bodies()[3]).to.include({ context_id: 'c1', model: 'small' })
  })

  it('says that a reply stopped at the token limit, also if it looks complete', async () => {
    await server.serve([said('{"n": 1}', { context_id: 'c1', finish_reason: 'length' }), said(example)])
    const { exitCode, stdout, stderr } = await run(['--no-stream'])
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 0, stdout: `${example}\n` })
    expect(stderr).to.equal('Reply 1 of 2 does not fit the JSON Schema: it stopped at the token limit\n')
  })

  it('sends the earlier messages again in a completion, and if the service names no conversation', async () => {
    for (const [words, script, start] of [
      [['--system', 'Be brief', '-t', '0'], [completed('?'), completed(example)], ['Be brief']],
      [[], [said('?', {}), completed(example)], []],
    ] as const) {
      await server.serve([...script])
      expect((await run(words)).stdout).to.equal(`${example}\n`)
      const contents = bodies()[1].messages.map(({ content }: { content: string }) => content.split('\n')[0])
      expect(contents).to.deep.equal([...start, 'List', '?', 'Your reply does not fit the JSON Schema:'])
      await run(['-c'])
      expect(bodies()[2].messages).to.have.lengthOf(start.length + 5)
    }
  })

  it('takes the schema from a file, after text from files, stdin, and a prompt', async () => {
    writeFileSync(join(sandbox.home, 'a.txt'), 'A\n')
    writeFileSync(
      join(sandbox.home, 'schema.json'),
      `{\n  "$schema": "http://json-schema.org/draft-07/schema#",\n  "items": [{ "type": "null" }]\n}\n`,
    )
    await server.serve([said('[1]'), said('[null, 1]')])
    await runChatctl(sandbox, ['chat', 'prompts', 'set', 'list'], { stdin: 'All: {{input}}' })
    const words = ['chat', 'send', 'Sort', '-f', 'a.txt', '--prompt', 'list', '--schema', 'schema.json']
    expect(await runChatctl(sandbox, words, { service: server, stdin: 'b' })).to.include({
      stdout: '[null, 1]\n',
      stderr: 'Reply 1 of 2 does not fit the JSON Schema: /0 must be null\n',
    })
    const shown = bodies()[0].message
    expect(shown).to.match(/^All: File: a\.txt[\s\S]*Sort\n\nb\n\nReply only[\s\S]*"null" \}\]\n\}$/)
  })

  for (const [given, ...words] of [
    ['{"type": "object",}', '--schema:1:19: '],
    ['nowhere.json', 'Cannot read the JSON Schema "nowhere.json"'],
    ['broken.json', 'broken.json:2:3: expected a JSON value'],
    ['list.json', 'list.json: A JSON Schema must be an object'],
    [
      '{"properties":{"a":{"type":"text"}}}',
      '--schema: /properties/a/type must be equal to one of the allowed values: ["array"',
    ],
    ['{"properties":{"a":{"pattern":"("}}}', '--schema: Invalid regular expression: /(/'],
    ['{"$async":true,"type":"array"}', '--schema: /$async is not supported'],
    ['{"$ref":"#/$defs/a"}', "can't resolve reference #/$defs/a"],
    ['{"$schema":"http://json-schema.org/draft-04/schema#"}', '/$schema must be that of draft-07 or 2020-12'],
  ] as const)
    it(`sends nothing with a schema that is not valid: ${given}`, async () => {
      await server.serve(said(example))
      writeFileSync(join(sandbox.home, 'broken.json'), '{\n  type: 1\n}')
      writeFileSync(join(sandbox.home, 'list.json'), '[]')
      const refused = await runChatctl(sandbox, ['chat', 'send', 'x', '--schema', given], { service: server })
      expectFailure(refused, 2, ...words)
      expect(server.requests).to.deep.equal([])
    })

  it('excludes the flags that print something else', async () => {
    await server.serve(said(example))
    const flags = ['--stream', '--extract', '--raw', '--stream-format=sse', '--output=yaml', '--fields=id']
    for (const flag of flags) expectFailure(await run([flag]), 2, 'cannot be used together')
    expectFailure(await run(['--attempts', '0']), 2, 'is not between 1')
    const refused = await runChatctl(sandbox, ['chat', 'send', 'x', '--attempts', '2'])
    expectFailure(refused, 2, '--attempts requires --schema')
    expect(server.requests).to.deep.equal([])
  })

  it('asks the embedded service for the format, too', async () => {
    for (const words of [[], ['--system', 'x']]) {
      const args = ['chat', 'send', 'x', '--schema', schema, '-p', 'local', '--dry-run', '--json', ...words]
      const { body } = JSON.parse((await runChatctl(sandbox, args)).stdout)
      const json_schema = { name: 'reply', schema: JSON.parse(schema) }
      expect(body.response_format).to.deep.equal({ type: 'json_schema', json_schema })
    }
    const args = ['chat', 'send', 'x', '--schema', schema, '-p', 'local']
    const refused = await runChatctl(sandbox, args)
    expectFailure(refused, 7, 'Reply 2 of 2 does not fit', 'it contains no JSON value')
  })
})

describe('the JSON value of a reply', () => {
  const words = fc
    .array(fc.constantFrom('Here', 'is', '"it"', 'of 3', "don't:", '\n', '- ', '`x`', '(see)', '12"-12"'), {
      maxLength: 6,
    })
    .map((all) => all.join(' '))

  const stringWithJson = anyJsonText.map((text) => JSON.stringify(`see ${text}`))

  it('is never another value, whatever is around it', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyJsonText, stringWithJson),
        words,
        words,
        fc.constantFrom('```', '```json', '~~~~', '   ```JSON', ''),
        fc.nat(),
        (text, before, after, fence, length) => {
          const close = fence.replace(/\w+/, '')
          const reply =
            fence === '' ? `${before} ${text} ${after}` : `${before}\n${fence}\n${text}\n${close}\n${after}`
          const found = findValue(reply)
          const isFound = fence !== '' || /^[[{]/.test(text) || before + after === ''
          if (isFound && 'fault' in found) expect.fail(`${found.fault}: ${reply}`)
          if ('text' in found) {
            expect(found.text).to.equal(text)
            expect(canonicalJson(found.value)).to.equal(canonicalJson(parseJson(text)))
          }
          // A number may be truncated unnoticed.
          if (!/^[[{"]/.test(text)) return
          const truncated = findValue(`Here: ${before} ${text.slice(0, length % text.length)}`)
          expect(truncated, text).to.have.property('fault')
        },
      ),
      { numRuns: 4 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('may contain a fence in a string after a line separator', () => {
    const text = '"\u2028```"'
    expect(findValue(`\`\`\`json\n${text}\n\`\`\``)).to.deep.equal({ text, value: '\u2028```' })
  })
})

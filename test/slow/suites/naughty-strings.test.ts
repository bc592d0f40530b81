import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import blns from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { CORE_SCHEMA, load, YAML11_SCHEMA } from 'js-yaml'
import yaml from 'yaml'
import { parseKeyValues } from '../../../src/cli/input/key-values.ts'
import { filterWithJq } from '../../../src/cli/output/jq.ts'
import { parseJson } from '../../../src/contract/notation/exact-json.ts'
import { yamlReading, yamlWriting } from '../../../src/contract/notation/yaml-scalars.ts'
import { splitFiles } from '../../../src/contract/resources/file-block.ts'
import { readSettingsFiles } from '../../../src/settings/file/read-settings-files.ts'
import { stripControls } from '../../../src/terminal/strip-controls.ts'
import type { InputFormat } from '../../../src/users/input/input.ts'
import { renderCsv, renderTsv } from '../../../src/view/format/delimited.ts'
import { renderTable } from '../../../src/view/format/table.ts'
import { settingsFileView } from '../../../src/view/settings-file-view.ts'
import { userView } from '../../../src/view/users.ts'
import { json, startFaultServer } from '../../support/fault-server.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { rowsOf, textInput } from '../../users/input/text-input.ts'

/** The Big List of Naughty Strings by Max Woolf, as the name of a user, a setting, a field, and a file. */
const strings = (blns as string[]).filter((text) => !text.includes('\0'))
const users = strings.map((name, index) => ({ id: `u${index}`, name, metadata: { [name || 'empty']: name } }))

describe('the Big List of Naughty Strings', () => {
  it('has more than 400 strings', () => {
    expect(strings.length).to.be.above(400)
  })

  it('survives a round trip through JSON', () => {
    const text = JSON.stringify(users)
    expect(JSON.stringify(parseJson(text))).to.equal(text)
  })

  it('survives a round trip through YAML, with every reader', () => {
    for (const user of users) {
      const text = yaml.stringify(user, yamlWriting(user))
      const document = yaml.parseDocument(text, yamlReading)
      expect([...document.errors, ...document.warnings]).to.deep.equal([])
      expect(document.toJS()).to.deep.equal(user)
      for (const schema of [CORE_SCHEMA, YAML11_SCHEMA]) expect(load(text, { schema })).to.deep.equal(user)
    }
  })

  it('survives a round trip through CSV and TSV', async () => {
    const grid = { header: ['id', 'name'], rows: users.map(({ id, name }) => [id, name]) }
    expect(parse(await renderCsv(grid))).to.deep.equal([grid.header, ...grid.rows])
    const lines = renderTsv(grid).split('\n').slice(0, -1)
    expect(lines.length).to.equal(users.length)
    const unescaped: Record<string, string> = { '\\\\': '\\', '\\t': '\t', '\\n': '\n', '\\r': '\r' }
    const cells = lines.map((line) =>
      line.split('\t').map((cell) => cell.replace(/\\[\\tnr]/g, (pair) => unescaped[pair] ?? pair)),
    )
    expect(cells).to.deep.equal(grid.rows)
  })

  const forms: [InputFormat, () => Promise<string> | string][] = [
    [
      'csv',
      () =>
        renderCsv({
          header: ['id', 'name', 'metadata.x'],
          rows: users.map(({ id, name }) => [id, name || 'x', name]),
        }),
    ],
    ['json', () => JSON.stringify(rows)],
    ['jsonl', () => rows.map((row) => `${JSON.stringify(row)}\n`).join('')],
    ['yaml', () => yaml.stringify(rows, yamlWriting(rows))],
  ]
  const rows = users.map(({ id, name }) => ({
    id,
    name: name || 'x',
    ...(name === '' ? {} : { metadata: { x: name } }),
  }))
  for (const [form, write] of forms) {
    it(`is imported unchanged: ${form}`, async () => {
      const read = await rowsOf(textInput(form, await write(), 4_096))
      expect(read.flatMap(({ faults }) => faults)).to.deep.equal([])
      expect(read.map(({ row }) => row)).to.deep.equal(rows)
    })
  }

  it('is exported and applied unchanged as settings', () => {
    for (const app_name of strings) {
      const text = String(settingsFileView.text?.({ app_name }))
      expect(readSettingsFiles([{ name: 's.yaml', text }]).settings).to.deep.equal({ app_name })
      const json = JSON.stringify({ app_name })
      expect(readSettingsFiles([{ name: 's.json', text: json }]).settings).to.deep.equal({ app_name })
    }
  })

  it('is accepted unchanged on the command line', () => {
    for (const text of strings) {
      expect(parseKeyValues([`key=${text}`], '--metadata')).to.deep.equal({ key: text })
      expect(parseKeyValues([`key:=${JSON.stringify(text)}`], '--metadata')).to.deep.equal({ key: text })
    }
  })

  it('is printed unchanged by --jq', async () => {
    expect(await filterWithJq(users, '.[].name')).to.equal(
      strings.map((text) => `${text.toWellFormed()}\n`).join(''),
    )
    expect(JSON.parse(await filterWithJq(users, '.'))).to.deep.equal(users)
  })

  it('is sent unchanged as the names and the contents of files', async function () {
    if (process.platform === 'win32') this.skip()
    this.timeout(60_000)
    const sandbox = createSandbox()
    const server = await startFaultServer(json(200, { response: 'ok', context_id: 'c' }))
    const names = strings
      .filter((text) => text.isWellFormed())
      .map((text) => `./${text.replaceAll('/', '_')}`)
    const usable = [...new Set(names)].filter(
      (name) => Buffer.byteLength(name) < 255 && !/^\.\/\.{0,2}$/.test(name),
    )
    // A byte order mark is not part of the text.
    const contents = strings.map((text) => text.toWellFormed().replace(/^\ufeff/, ''))
    const files = usable.map((name, index) => ({ name, content: contents[index] ?? '' }))
    for (const { name, content } of files) writeFileSync(join(sandbox.home, name), content)
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }
    const run = await runChatctl(sandbox, ['chat', 'send', 'Hi', '-f', ...usable], { env })
    expect(run).to.deep.equal({ exitCode: 0, stdout: 'ok\n', stderr: '' })
    const { message } = JSON.parse(server.requests[0]?.body ?? '')
    expect(splitFiles(message)).to.deep.equal({ files, text: 'Hi' })
    await server.close()
    sandbox.remove()
  })

  it('is shown in a table without control sequences', () => {
    for (const user of users) {
      const text = renderTable(userView, user, { fields: undefined, width: 80, bold: (one) => one })
      expect(stripControls(text)).to.equal(text)
    }
  })
})

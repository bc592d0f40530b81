import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect } from 'chai'
import { historyService, plainReading, type StoredMessage, storedAt } from '../support/handlers/history.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { failing, json, limited, type Script, startScriptedServer } from '../support/scripted-server.ts'
import { exportEnvironment, idsOf, readLines, runExport } from './export-run.ts'

/** Enough messages for several pages, one minute apart. */
const stored = storedAt(Array.from({ length: 450 }, (_, index) => index))

describe('history export', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)

  async function start(script: Script): Promise<string> {
    await server.serve(script)
    return server.url
  }

  const pages = () => server.requests.filter(({ path }) => path.startsWith('/api/chat/history'))
  const stateDirectory = () => join(sandbox.home, '.local', 'state', 'chatctl', 'state', 'exports')
  const left = () => (existsSync(stateDirectory()) ? readdirSync(stateDirectory()) : [])

  it('keeps nothing if the reader of stdout has closed it', async () => {
    const url = await start(historyService(plainReading, stored))
    const stdout = new Writable({
      write: (_, __, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    })
    const host = { stdout: stdout as unknown as NodeJS.WriteStream }
    const run = await runChatctl(sandbox, ['history', 'export'], { env: exportEnvironment(url), host })
    expect(run).to.include({ exitCode: 0, stderr: '' })
    expect(left()).to.deep.equal([])
  })

  it('writes every message, oldest first, as the service returned it', async () => {
    const odd: StoredMessage[] = stored.map((message, index) => ({
      ...message,
      x_extra: { index, list: [1, null, 'ü\u2028'] },
    }))
    const run = await runExport(sandbox, await start(historyService(plainReading, odd)))
    expect(run.exitCode).to.equal(0)
    expect(run.stderr).to.equal('450 messages: 450 from the service, 0 from this machine\n')
    expect(readLines(run.stdout)).to.deep.equal(odd)
    expect(left()).to.deep.equal([])
  })

  it('requests one conversation with --context, and all of them otherwise', async () => {
    await runExport(sandbox, await start(historyService(plainReading, stored)), ['--context', 'c 1'])
    expect(pages().every(({ path }) => path.includes('context_id=c+1'))).to.equal(true)
    await server.close()
    await runExport(sandbox, await start(historyService(plainReading, stored)))
    expect(server.requests.some(({ path }) => path.includes('context_id'))).to.equal(false)
  })

  it('refuses an unknown file extension before it sends a request, except with -o', async () => {
    const url = await start(historyService(plainReading, stored))
    const refused = await runExport(sandbox, url, ['--to', 'talk.pdf'])
    expect(refused.exitCode).to.equal(2)
    expect(refused.stderr).to.include('.pdf').and.include('.html').and.include('-o')
    expect(server.requests).to.deep.equal([])
    const run = await runExport(sandbox, url, ['--to', 'talk.txt', '-o', 'md'])
    expect(run.exitCode).to.equal(0)
    expect(existsSync(join(sandbox.home, 'talk.txt'))).to.equal(true)
  })

  it('writes a JSON object with a list', async () => {
    const run = await runExport(sandbox, await start(historyService(plainReading, stored)), ['--json'])
    expect(JSON.parse(run.stdout)).to.deep.equal({ messages: stored })
  })

  it('writes nothing, an empty list, or an empty document for an empty history', async () => {
    const url = await start(json(200, { messages: [], has_more: false }))
    expect(await runExport(sandbox, url)).to.include({ exitCode: 0, stdout: '' })
    expect(await runExport(sandbox, url, ['-o', 'json'])).to.include({
      exitCode: 0,
      stdout: '{"messages":[]}\n',
    })
    for (const name of ['md', 'markdown'])
      expect((await runExport(sandbox, url, ['-o', name])).stdout).to.equal('# Chat history\n')
    const to = join(sandbox.home, 'empty.jsonl')
    expect(await runExport(sandbox, url, ['--to', to])).to.include({ exitCode: 0 })
    expect(readFileSync(to, 'utf8')).to.equal('')
  })

  it('takes the format from -o, or else from the file extension', async () => {
    const url = await start(historyService(plainReading, stored.slice(0, 2)))
    const begin = async (name: string, ...args: string[]) => {
      const to = join(sandbox.home, name)
      const run = await runExport(sandbox, url, ['--to', to, ...args], { env: { CHATCTL_OUTPUT: 'json' } })
      expect(run, run.stderr).to.include({ exitCode: 0, stdout: '' })
      expect(statSync(to).mode & 0o777).to.equal(0o600)
      return readFileSync(to, 'utf8').slice(0, 12)
    }
    expect(await begin('a.md')).to.equal('# Chat histo')
    expect(await begin('a.html')).to.equal('<!doctype ht')
    expect(await begin('a.json')).to.equal('{"messages":')
    expect(await begin('a.jsonl')).to.equal('{"id":"m0","')
    expect(await begin('a.txt')).to.equal('{"messages":')
    expect(await begin('b.md', '-o', 'jsonl')).to.equal('{"id":"m0","')
    expect((await runExport(sandbox, url, ['--to', '-'])).stdout.slice(0, 12)).to.equal('{"id":"m0","')
    const refused = await runExport(sandbox, url, ['-o', 'csv'])
    expect(refused).to.include({ exitCode: 2, stdout: '' })
  })

  it('replaces a file only when the export is complete', async () => {
    const to = join(sandbox.home, 'kept.jsonl')
    writeFileSync(to, 'old')
    const service = historyService(plainReading, stored)
    const url = await start({
      choose: (request, index) =>
        index === 2 ? failing(403, 'no', 'No more') : service.choose(request, index),
    })
    const run = await runExport(sandbox, url, ['--to', to])
    expect(run).to.include({ exitCode: 5, stdout: '' })
    expect(run.stderr).to.contain('199 messages saved. To resume, run the same command.')
    expect(readFileSync(to, 'utf8')).to.equal('old')
    expect(readdirSync(sandbox.home).filter((name) => name.includes('kept'))).to.deep.equal(['kept.jsonl'])
    const again = await runExport(sandbox, url, ['--to', to])
    expect(again.exitCode).to.equal(0)
    expect(again.stderr).to.contain('Resuming after 199 messages of an earlier run.')
    expect(idsOf(readLines(readFileSync(to, 'utf8')))).to.deep.equal(idsOf(stored))
    expect(left()).to.deep.equal([])
  })

  it('follows a symbolic link, writes to a device, and refuses a directory before it sends a request', async () => {
    const url = await start(historyService(plainReading, stored.slice(0, 3)))
    const file = join(sandbox.home, 'file.jsonl')
    writeFileSync(file, 'old')
    symlinkSync(file, join(sandbox.home, 'link.jsonl'))
    await runExport(sandbox, url, ['--to', 'link.jsonl'])
    expect(readLines(readFileSync(file, 'utf8'))).to.have.lengthOf(3)
    expect(await runExport(sandbox, url, ['--to', '/dev/null'])).to.include({ exitCode: 0 })
    expect(statSync('/dev/null').isCharacterDevice()).to.equal(true)
    const asked = server.requests.length
    for (const to of [sandbox.home, join(sandbox.home, 'nowhere', 'x.md')]) {
      const run = await runExport(sandbox, url, ['--to', to])
      expect(run).to.include({ exitCode: 1, stdout: '' })
      expect(run.stderr).to.contain(to)
    }
    expect(server.requests.length).to.equal(asked)
  })

  it('omits messages older than --since, and does not fetch them', async () => {
    const day = 86_400_000
    // An hour older than whole days, so that no message is exactly as old as the limit.
    const newest = Date.now() - 3_600_000
    const ages = Array.from({ length: 300 }, (_, index) => newest - (300 - index) * day)
    const daily = stored
      .slice(0, 300)
      .map((message, index) => ({ ...message, created_at: new Date(ages[index] ?? 0).toISOString() }))
    const url = await start(historyService({ ...plainReading, largest: 20 }, daily))
    const since = async (text: string) =>
      idsOf(readLines((await runExport(sandbox, url, ['--since', text])).stdout)).length
    expect(await since('30d')).to.equal(29)
    expect(pages()).to.have.lengthOf(2)
    expect(await since('36h')).to.equal(1)
    expect(await since(new Date(ages[290] ?? 0).toISOString())).to.equal(10)
    for (const text of ['yesterday', '2026-13-01', '5', '-3d']) {
      const run = await runExport(sandbox, url, [`--since=${text}`])
      expect(run, text).to.include({ exitCode: 2, stdout: '' })
    }
  })

  it('waits after a 429', async () => {
    const service = historyService(plainReading, stored)
    const url = await start({
      choose: (request, index) =>
        index % 2 ? service.choose(request, index) : limited({ 'retry-after': '0' }),
    })
    const run = await runExport(sandbox, url)
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(idsOf(readLines(run.stdout))).to.deep.equal(idsOf(stored))
  })

  it('exits 75 if the wait is too long, and resumes later', async () => {
    const service = historyService(plainReading, stored)
    const url = await start({
      choose: (request, index) =>
        index === 3 ? limited({ 'retry-after': '3600' }) : service.choose(request, index),
    })
    const run = await runExport(sandbox, url, ['--max-wait', '1s', '-o', 'json'])
    expect(run).to.include({ exitCode: 75, stdout: '' })
    const said = readLines(run.stderr) as unknown as Record<string, { message: string }>[]
    expect(said.map((line) => Object.keys(line)[0])).to.deep.equal(['notice', 'error'])
    expect(said[0]?.['notice']?.message).to.match(/^\d+ messages saved/)
    // Another output format continues the same export.
    const again = await runExport(sandbox, url, ['--quiet'])
    expect(again).to.include({ exitCode: 0, stderr: '' })
    expect(idsOf(readLines(again.stdout))).to.deep.equal(idsOf(stored))
  })

  it('starts again if no cursor of the earlier run is valid', async () => {
    let gone: string | undefined
    const service = historyService(plainReading, stored)
    const url = await start({
      choose: (request, index) => {
        const before = new URL(request.path, 'http://x').searchParams.get('before') ?? undefined
        if (index === 2) {
          gone = before
          return failing(403, 'no', 'No more')
        }
        // The message is deleted now, and the service supports no cursors but IDs.
        return before !== undefined &&
          index < 6 &&
          (before === gone || !before.startsWith('m') || before === 'm250')
          ? failing(400, 'bad_cursor', 'What is this?')
          : service.choose(request, index)
      },
    })
    await runExport(sandbox, url)
    const again = await runExport(sandbox, url)
    expect(again.exitCode, again.stderr).to.equal(0)
    expect(idsOf(readLines(again.stdout))).to.deep.equal(idsOf(stored))
  })

  it('does not resume an export that was made with another key', async () => {
    const service = historyService(plainReading, stored)
    const url = await start({
      choose: (request, index) =>
        index === 2 ? failing(403, 'no', 'No more') : service.choose(request, index),
    })
    await runExport(sandbox, url)
    const other = await runExport(sandbox, url, [], { env: { CHATCTL_API_KEY: 'another' } })
    expect(other.exitCode).to.equal(0)
    expect(other.stderr).not.to.include('Resuming')
    expect(left()).to.have.lengthOf(1)
    for (const name of left()) {
      const path = join(stateDirectory(), name)
      expect(statSync(path).mode & 0o777).to.equal(0o600)
      expect(readFileSync(path, 'utf8')).not.to.contain('key-for-exports')
    }
  })

  it('deletes partial exports that are older than a week', async () => {
    const old = join(stateDirectory(), 'abc-1')
    mkdirSync(stateDirectory(), { recursive: true })
    writeFileSync(old, '')
    const then = new Date(Date.now() - 8 * 86_400_000)
    utimesSync(old, then, then)
    await runExport(sandbox, await start(historyService(plainReading, stored.slice(0, 2))))
    expect(existsSync(old)).to.equal(false)
  })

  it('warns once of messages that do not match the interface, and writes them unchanged', async () => {
    const strange = stored.map((message) => ({ ...message, content: 5 }))
    const run = await runExport(sandbox, await start(historyService(plainReading, strange as never)))
    expect(run.exitCode).to.equal(0)
    expect(run.stderr.match(/^Warning: /gm)).to.have.lengthOf(1)
    expect(readLines(run.stdout)).to.deep.equal(strange)
  })

  describe('of a profile with conversations that only this machine stores', () => {
    const run = (...words: string[]) => runChatctl(sandbox, words)
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString()

    /** A session that begins on the service, and continues on this machine with the turns after `onService`. */
    function writeSession(
      id: string,
      baseUrl: string,
      turns: [text: string, minute: number][],
      onService = 0,
    ): void {
      const sessions = join(sandbox.home, '.local/share/chatctl/sessions')
      mkdirSync(sessions, { recursive: true })
      const context = onService > 0 ? { context_id: 'c1' } : {}
      const lines = [
        { v: 1, type: 'session', id, at: at(0), profile: null, base_url: baseUrl },
        ...turns.flatMap(([text, minute], index) => {
          const turn = { turn: index + 1, at: at(minute) }
          const isStored = index < onService
          return [
            ...(index === 0 && isStored ? [{ type: 'options', at: at(0), mode: 'context' }] : []),
            ...(index === onService ? [{ type: 'options', at: at(0), mode: 'completions', ...context }] : []),
            { type: 'user', ...turn, text },
            { type: 'start', ...turn, id: `reply-${text}`, ...(isStored && context) },
            { type: 'delta', turn: index + 1, text: `re: ${text}` },
            { type: 'end', ...turn, complete: text !== 'stopped', verified: true },
          ]
        }),
      ]
      writeFileSync(join(sessions, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    }

    it('contains messages of both, each once, by time, with the same fields', async () => {
      const url = await start(historyService({ ...plainReading, largest: 2 }, stored.slice(0, 6)))
      const turns: [string, number][] = [
        ['text 2', 2],
        ['own', 2.5],
        ['stopped', 3.5],
      ]
      writeSession('s2', `${url}/`, turns, 1)
      writeSession('s1', `${url}/`, [['text 3', 3]])
      const both = await runExport(sandbox, url)
      const texts = (text: string) => readLines(text).map(({ content }) => content)
      const all =
        'text 0,text 1,text 2,own,re: own,text 3,text 3,re: text 3,stopped,re: stopped,text 4,text 5'
      expect(texts(both.stdout).join()).to.equal(all)
      expect(both.stderr).to.equal('12 messages: 6 from the service, 6 from this machine\n')
      const own = { created_at: at(2.5), context_id: 'c1', session_id: 's2' }
      expect(readLines(both.stdout)[2]).to.deep.equal(stored[2])
      expect(readLines(both.stdout).slice(3, 5)).to.deep.equal([
        { id: null, content: 'own', role: 'user', ...own },
        { id: 'reply-own', content: 're: own', role: 'assistant', ...own },
      ])
      const [, reply] = readLines(both.stdout).filter(({ session_id }) => session_id === 's1')
      expect(reply).to.include({ context_id: null, role: 'assistant', id: 'reply-text 3' })
      const incomplete = readLines(both.stdout).filter((message) => message['incomplete'] === true)
      expect(incomplete.map(({ content }) => content)).to.deep.equal(['re: stopped'])

      const onService = await runExport(sandbox, url, ['--stored', '--to', 'stored.jsonl'])
      expect(onService.stderr).to.equal('6 messages in stored.jsonl: 6 from the service\n')
      expect(readLines(readFileSync(join(sandbox.home, 'stored.jsonl'), 'utf8'))).to.deep.equal(
        stored.slice(0, 6),
      )
      const json = JSON.parse((await runExport(sandbox, url, ['--json', '--local'])).stdout)
      expect(json.messages).to.deep.equal(readLines(both.stdout).filter((message) => 'session_id' in message))
      const one = await runExport(sandbox, url, ['--context', 'c1', '--since', at(3), '-o', 'md', '--local'])
      expect(one.stdout).to.match(/^# Conversation c1\n\n## user · 2026-01-01 00:03:30 UTC\n\n> stopped\n/)
      expect(one.stderr).to.equal('2 messages: 2 from this machine\n')
      const html = (await runExport(sandbox, url, ['-o', 'html'])).stdout
      expect(html.match(/<article/g)).to.have.lengthOf(12)
      expect(html).to.match(/re: own.*text 3.*re: stopped/s)
      expect(await runExport(sandbox, url, ['--local', '--stored'])).to.include({ exitCode: 2 })
    })

    it('sends no request and needs no sign-in with --local', async () => {
      const url = await start(json(500, {}))
      writeSession('s1', `${url}/`, [['own', 1]])
      const env = { CHATCTL_API_KEY: undefined }
      const { exitCode, stdout } = await runExport(sandbox, url, ['--local'], { env })
      expect(readLines(stdout)).to.have.lengthOf(2)
      expect(exitCode).to.equal(0)
      expect(server.requests).to.deep.equal([])
      expect(left()).to.deep.equal([])
    })

    it('contains each once in a resumed export, and none of other services', async () => {
      const service = historyService({ ...plainReading, largest: 2 }, stored.slice(0, 6))
      const url = await start({
        choose: (request, index) =>
          index === 2 ? failing(403, 'no', 'No more') : service.choose(request, index),
      })
      writeSession('s1', `${url}/`, [['own', 2.5]])
      // Another session that begins with a copy of the first one.
      const copied: [string, number][] = [
        ['own', 2.5],
        ['forked', 2.6],
      ]
      writeSession('s2', `${url}/`, copied)
      writeSession('s3', 'https://chat.example/', [['other', 2.5]])
      expect((await runExport(sandbox, url)).stderr).to.include('3 messages saved.')
      const { stdout } = await runExport(sandbox, url)
      expect(
        readLines(stdout)
          .map(({ content }) => content)
          .join(),
      ).to.equal('text 0,text 1,text 2,own,re: own,forked,re: forked,text 3,text 4,text 5')
    })

    it('contains a reply for which the service named no conversation', async () => {
      const url = await start((request, ...rest) =>
        json(200, request.method === 'POST' ? { response: 'unnamed' } : { messages: [] })(request, ...rest),
      )
      await runChatctl(sandbox, ['chat', 'send', 'Hi'], { env: exportEnvironment(url) })
      const { stdout } = await runExport(sandbox, url)
      expect(readLines(stdout).map(({ content }) => content)).to.deep.equal(['Hi', 'unnamed'])
    })

    it('names a transcript that cannot be read', async () => {
      const url = await start(json(200, { messages: [], has_more: false }))
      writeSession('s1', `${url}/`, [['own', 1]])
      const sessions = join(sandbox.home, '.local/share/chatctl/sessions')
      writeFileSync(
        join(sessions, 's9.jsonl'),
        '{"v":9,"type":"session","id":"s9","at":"","profile":null,"base_url":null}\n',
      )
      const { stderr, stdout, exitCode } = await runExport(sandbox, url)
      expect(stderr).to.include(
        'The transcript s9 was written by a newer chatctl (version 9), so its messages',
      )
      expect(readLines(stdout)).to.have.lengthOf(2)
      expect(exitCode).to.equal(0)
    })

    it('contains the messages of commands that the embedded service did not store', async () => {
      const { context_id: id } = JSON.parse((await run('chat', 'send', 'Hi', '--json')).stdout)
      await run('chat', 'send', 'Only here', '--system', 'Be brief')
      await run('chat', 'send', 'Continued', '--context', id, '--system', 'Be brief')
      const prompts = async (...words: string[]) =>
        readLines((await run('history', 'export', ...words)).stdout)
          .filter(({ role }) => role === 'user')
          .map(({ content }) => content)
      expect(await prompts()).to.deep.equal(['Hi', 'Only here', 'Continued'])
      expect(await prompts('--stored')).to.deep.equal(['Hi'])
      expect(await prompts('--context', id)).to.deep.equal(['Hi', 'Continued'])
      expect(await prompts('--local', '--since', '2999-01-01')).to.deep.equal([])
    })
  })
})

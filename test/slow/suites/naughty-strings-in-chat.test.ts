import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import blns from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }
import { expect } from 'chai'
import { renderTranscript } from '../../../src/chat/transcript/render-transcript.ts'
import { cleanText } from '../../../src/terminal/editor/graphemes.ts'
import { stripControls } from '../../../src/terminal/strip-controls.ts'
import { type SessionRun, SessionWorld } from '../../chat/session/session-run.ts'
import { withService } from '../../service/temporary-service.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { until } from '../../support/until.ts'

/** The Big List of Naughty Strings by Max Woolf, as messages, session names, and file names. */
const strings = blns as string[]
/**
 * A terminal cannot type control characters into a paste, and a session sends no blank message. A backslash
 * before Enter begins a new line.
 */
const messages = strings
  .filter((text) => cleanText(text) === text && text.trim() !== '')
  .map((text) => (text.endsWith('\\') ? `${text}.` : text))

const paste = (text: string): string => `\u001b[200~${text}\u001b[201~`

describe('the Big List of Naughty Strings in a chat', function () {
  this.timeout(300_000)
  const world = perSuite(() => SessionWorld.open())
  let run: SessionRun
  before(async () => {
    run = await world.run()
  })

  it('has more than 400 messages that can be typed', () => {
    expect(messages.length).to.be.above(400)
  })

  it('is sent, recorded, and shown again unchanged by a session', async () => {
    for (const [index, text] of messages.entries()) {
      run.terminal.type(`${paste(text.startsWith('/') ? `/${text}` : text)}\r`)
      await until(() => world.server.requests.length > index)
    }
    await until(() => world.transcript().turns.at(-1)?.status === 'complete')
    expect(world.server.sends.map(({ message }) => message)).to.deep.equal(messages)
    const transcript = world.transcript()
    const replies = messages.map((text) => `You said: ${text}`)
    expect(transcript.turns.map(({ user }) => user)).to.deep.equal(messages)
    expect(transcript.turns.map(({ reply }) => reply)).to.deep.equal(replies)
    const shown = [...renderTranscript(transcript, 'text')].join('')
    for (const text of [...messages, ...replies]) expect(shown).to.contain(text)
    expect(JSON.parse([...renderTranscript(transcript, 'json')].join('')).turns).to.have.length(
      messages.length,
    )
  })

  it('is kept unchanged as the name of a session', async () => {
    for (const message of messages.filter((text) => !text.includes('\n'))) {
      run.terminal.type(`${paste(`/name ${message}`)}\r`)
      await until(() => world.transcript().name === message.trim())
    }
  })

  it('is a file name of /save, or an error', async () => {
    // A path with a slash leads to other directories.
    const names = messages.map((text) => text.replaceAll('/', '_').trim())
    const [files, others] = [new Set<string>(), new Set<string>()]
    for (const name of names.filter((one) => !one.includes('\n'))) {
      const isFile = !['.', '..', '~'].includes(name) && Buffer.byteLength(name) <= longestName
      ;(isFile ? files : others).add(name)
    }
    for (const name of [...others, ...files]) run.terminal.type(`${paste(`/save ${name}`)}\r`)
    await until(() => existsSync(join(world.home, [...files].at(-1) ?? '')), 60_000)
    await run.say('/name saved', '"saved"')
    for (const name of files) {
      expect(readFileSync(join(world.home, name), 'utf8'), name).to.contain('You said: ')
    }
    const failures = (await run.terminal.text()).match(/^Error: /gm) ?? []
    expect(failures).to.have.length(others.size)
  })
})

/** In bytes, on every common file system. */
const longestName = 255

describe('the Big List of Naughty Strings with chat send', function () {
  this.timeout(300_000)
  const sandbox = perSuite(createSandbox)

  it('is stored by the embedded service, listed, and printed unchanged', async () => {
    await withService(async ({ url, key }) => {
      const env = { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: key }
      // A dash is stdin.
      for (const text of strings.filter((one) => !one.includes('\0') && !['', '-'].includes(one.trim()))) {
        const sent = await runChatctl(sandbox, ['chat', 'send', '--json', '--', text], { env })
        expect(sent.exitCode, sent.stderr).to.equal(0)
        const { context_id: context } = JSON.parse(sent.stdout) as { context_id: string }
        const list = ['history', 'list', '--context', context]
        const { stdout } = await runChatctl(sandbox, [...list, '--json'], { env })
        const { messages: stored } = JSON.parse(stdout) as { messages: { content: string }[] }
        expect(stored[0]?.content).to.equal(text.toWellFormed())
        const shown = await runChatctl(sandbox, list, { env, terminal: { columns: 80 } })
        const lines = stripVTControlCharacters(shown.stdout).replaceAll('\r', '')
        expect(stripControls(lines)).to.equal(lines)
      }
    })
  })
})

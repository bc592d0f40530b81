import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, serveHandler } from '../../support/scripted-server.ts'

const code = '```sh\necho 1\n```\n\n**Then**:\n\n```sh\necho 2\n```'

describe('chat show without an ID', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))

  const run = (args: readonly string[], options: HostOptions = {}) =>
    runChatctl(sandbox, ['chat', ...args], { ...options, service: server })
  const send = async (text: string, reply: string, ...flags: string[]) => {
    server.answerNext(reply)
    expect((await run(['send', text, ...flags])).exitCode).to.equal(0)
  }
  const printed = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await run(['show', ...args])
    expect({ exitCode, stderr }, args.join(' ')).to.deep.equal({ exitCode: 0, stderr: '' })
    return stdout
  }

  it('prints the last conversation of this service and profile with --last, stored or not', async () => {
    await send('First', 'One')
    await send('Second', 'Two')
    expect(await printed('--last')).to.match(/^Second, session [\s\S]*You: Second\n\nTwo\n$/)
    await send('Third', 'Three', '--system', 'Be brief')
    expect(await printed('--last')).to.match(/^Third, session [\s\S]*You: Third\n\nThree\n$/)
    await send('Again', 'Four', '--context', 'ctx_1')
    expect(await printed('--last')).to.match(/^First, session [\s\S]*You: Again\n\nFour\n$/)
    expect(await printed('--last', '-o', 'markdown')).to.match(/^# First, session /)
    expect(JSON.parse(await printed('--last', '--json'))).to.include({ context_id: 'ctx_1', name: 'First' })
    const elsewhere = await run(['show', '--last'], { env: { CHATCTL_BASE_URL: 'https://chat.example' } })
    expectFailure(elsewhere, 6, 'no transcript of the last conversation', 'chat sessions --all')
    await send('Unrecorded', 'Five', '--no-save')
    expectFailure(await run(['show', '--last']), 6, 'no transcript of the last conversation')
  })

  it('prints the last reply with --reply, and its code with --extract, also of a session by its name', async () => {
    await send('First', 'One')
    await send('Code', code)
    await send('Without code', 'None.', '--context', 'ctx_1')
    for (const which of ['Code', '--context=ctx_2']) {
      if (which !== 'Code') await send('Code again', code, which)
      const words = which === 'Code' ? [which] : ['--last']
      expect(await printed(...words, '--reply')).to.equal(`${code}\n`)
      expect(await printed(...words, '-x')).to.equal('echo 1\n')
      expect(await printed(...words, '-x2')).to.equal('echo 2\n')
      expect(await printed(...words, '--extract=all')).to.equal('echo 1\n\necho 2\n')
    }
    server.failNext(failing(500, 'broken', 'Out of order'))
    await run(['send', 'Fails'])
    expect(await printed('--last', '--reply')).to.equal(`${code}\n`)
    const none = await run(['show', 'Code', '-x3'])
    expectFailure(none, 1, 'contains 2 code blocks, so block 3 does not exist', / chat show s\S+ --reply$/m)
    const { stdout } = await run(['show', 'Code', '--reply'], { terminal: { columns: 60 } })
    expect(stdout).to.contain('Then').and.not.to.contain('**')
  })

  it('fails for a session without a reply, and for flags that exclude each other', async () => {
    server.failNext(failing(500, 'broken', 'Out of order'))
    await run(['send', 'First'])
    expectFailure(await run(['show', 'First', '--reply']), 6, 'has no reply')
    for (const args of [
      ['First', '--last'],
      ['First', '--reply', '-x'],
      ['First', '--reply', '--json'],
      ['First', '-x', '-o', 'markdown'],
    ]) {
      const { exitCode, stderr } = await run(['show', ...args])
      expect(exitCode, args.join(' ')).to.equal(2)
      expect(stderr).to.match(/--(last|reply|extract)/)
    }
  })

  it('exits 3 in a non-interactive run, and names --last and the list', async () => {
    for (const args of [[], ['--no-input']])
      expectFailure(await run(['show', ...args]), 3, 'with --last, or list them with chatctl chat sessions')
  })

  it('fails in a terminal if there is no session', async () => {
    const { exitCode, stdout } = await run(['show'], { terminal: { columns: 80 } })
    expect(exitCode).to.equal(2)
    expect(stdout).to.contain('There are no sessions with this service and profile')
  })
})
